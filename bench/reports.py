"""A run on paper: a table for people, and everything behind it as JSON."""

import os
import platform
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from bench.context import Scale
from bench.findings import Finding, Report

_COLUMNS = ("what", "target", "measured", "", "made of")


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run with its circumstances, as it is kept."""

    started_at: datetime
    seconds: float
    scale: Scale
    python: str
    machine: str
    processors: int | None
    load_before: tuple[float, float, float]
    load_after: tuple[float, float, float]
    reports: Sequence[Report]

    @property
    def misses(self) -> list[Finding]:
        return [
            finding
            for report in self.reports
            for finding in report.findings
            if finding.verdict == "miss"
        ]

    @property
    def faults(self) -> list[Report]:
        return [report for report in self.reports if report.fault is not None]


def describe_machine() -> str:
    return f"{platform.system()} {platform.machine()}"


def table(run: Run) -> str:
    """Markdown that also reads well as it is."""
    rows = list(_rows(run.reports))
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
    lines = [_line(_COLUMNS, widths), _line(["-" * width for width in widths], widths)]
    lines.extend(_line(row, widths) for row in rows)
    return "\n".join([*lines, "", *_remarks(run)])


def keep(run: Run, folder: Path) -> Path:
    """Write the table and the raw data; the path of the table."""
    name = run.started_at.strftime("%Y%m%dT%H%M%SZ")
    folder.mkdir(parents=True, exist_ok=True)
    raw = msgspec.json.format(msgspec.json.encode(run))
    (folder / f"{name}.json").write_bytes(raw + b"\n")
    written = folder / f"{name}.md"
    written.write_text(f"# Benchmark of {run.started_at:%Y-%m-%d %H:%M} UTC\n\n{table(run)}\n")
    return written


def _rows(reports: Sequence[Report]) -> Iterator[tuple[str, ...]]:
    for report in reports:
        if report.fault is not None:
            yield report.case, "", "did not run", "fault", report.fault.partition("\n")[0]
        for finding in report.findings:
            measured = f"{_short(finding.value)} {finding.unit}".strip()
            yield finding.what, str(finding.target), measured, finding.verdict, finding.notes


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.2f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"


def _remarks(run: Run) -> Iterator[str]:
    judged = [f for report in run.reports for f in report.findings if f.verdict]
    before, after = run.load_before[0], run.load_after[0]
    yield (
        f"{len(judged) - len(run.misses)} of {len(judged)} targets met, "
        f"{len(run.faults)} cases did not run; {run.seconds:.0f} s."
    )
    yield (
        f"{run.machine}, {run.processors} processors, Python {run.python}; "
        f"load average {before:.1f} before and {after:.1f} after."
    )


def load_average() -> tuple[float, float, float]:
    return os.getloadavg()
