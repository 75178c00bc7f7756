"""A run's table and what is kept of it."""

import json
from datetime import UTC, datetime
from pathlib import Path

from bench.context import QUICK
from bench.findings import Finding, Report, Target
from bench.reports import Run, keep, table
from bench.summaries import Round


def _run(*reports: Report) -> Run:
    return Run(
        started_at=datetime(2026, 11, 30, 4, 5, 6, tzinfo=UTC),
        seconds=61.4,
        scale=QUICK,
        python="3.13.0",
        machine="Linux x86_64",
        processors=2,
        load_before=(0.5, 0.0, 0.0),
        load_after=(2.5, 0.0, 0.0),
        reports=reports,
    )


GOOD = Finding(what="reads", value=0.5, target=Target(at_least=0.45))
BAD = Finding(what="writes", value=0.79, target=Target(at_least=0.8), notes="10/s of 13/s")
FREE = Finding(what="peak", value=1073.4, unit="MiB")
BROKEN = Report(case="appends", fault="RuntimeError: pgbench did not run\nits output")


def test_the_table_tells_passes_misses_and_what_did_not_run() -> None:
    lines = table(_run(Report(case="a", findings=[GOOD, BAD, FREE]), BROKEN)).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:6]]
    assert cells == [
        ["reads", ">= 0.45", "0.50", "pass", ""],
        ["writes", ">= 0.8", "0.79", "miss", "10/s of 13/s"],
        ["peak", "", "1,073 MiB", "", ""],
        ["appends", "", "did not run", "fault", "RuntimeError: pgbench did not run"],
    ]
    assert lines[7] == "1 of 2 targets met, 1 cases did not run; 61 s."
    assert "load average 0.5 before and 2.5 after" in lines[8]


def test_misses_and_faults_are_found_for_the_exit_status() -> None:
    run = _run(Report(case="a", findings=[GOOD, BAD, FREE]), BROKEN)
    assert run.misses == [BAD]
    assert run.faults == [BROKEN]


def test_the_raw_data_is_kept_beside_the_table(tmp_path: Path) -> None:
    one = Round(side="service", number=0, per_second=5.0, quantiles_ms=[1.0, 2.0])
    written = keep(_run(Report(case="a", findings=[GOOD], rounds=[one])), tmp_path)
    assert written == tmp_path / "20261130T040506Z.md"
    assert "| reads" in written.read_text()
    raw = json.loads(written.with_suffix(".json").read_bytes())
    assert raw["reports"][0]["rounds"][0]["quantiles_ms"] == [1.0, 2.0]
