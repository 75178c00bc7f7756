"""`make bench`: measure the state service beside its floors (bench/README.md).

python -m bench.run [--quick] [--only NAME ...] [--strict]
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench import texts
from bench.cases import (
    depth,
    files,
    gateway,
    limits,
    memory,
    remote,
    searches,
    throughput,
    transfers,
)
from bench.context import FULL, QUICK, Bench, Scale
from bench.findings import Report
from bench.reports import Run, describe_machine, keep, load_average, table
from bench.stands import open_stand

RESULTS = Path(__file__).resolve().parent.parent / "bench-results"

# In this order: what is sensitive to the size of the tables comes before they are filled.
CASES: Mapping[str, Callable[[Bench], Report]] = {
    "reads": throughput.reads,
    "writes-spread": throughput.writes_spread,
    "writes-one-scope": throughput.writes_one_scope,
    "appends-32": throughput.appends_32,
    "appends-128": throughput.appends_128,
    "gateway": gateway.tool_calls,
    "gateway-index": gateway.index_by_scope,
    "remote": remote.calls,
    "files": files.overwrites,
    "transfers": transfers.rows_moved,
    "memory-small": memory.small_bodies,
    "memory-large": memory.large_bodies,
    "writes-by-scope": depth.writes_by_scope,
    "list-pages": depth.listed_pages,
    "history-pages": depth.history_pages,
    "versions-pages": depth.versions_pages,
    "search-without-index": searches.searches_without_index,
    "search": searches.searches,
    "appends-by-length": depth.appends_by_length,
    "large-store": limits.large_store,
}
# As long as all others together, or longer: only when it is named.
ON_REQUEST = frozenset({"large-store"})


def main(arguments: Sequence[str]) -> int:
    """The exit status: 1 when a case did not run, or, with `--strict`, when one misses."""
    options = _parser().parse_args(arguments)
    run = measure(
        chosen(options.only), folder=options.results, scale=QUICK if options.quick else FULL
    )
    print(table(run))
    print(f"\nkept in {keep(run, options.results)} and its .json")
    return 1 if run.faults or (options.strict and run.misses) else 0


def chosen(named: Sequence[str] | None) -> list[str]:
    """What is named, or all but what has to be."""
    return list(named or (name for name in CASES if name not in ON_REQUEST))


def measure(cases: Sequence[str], *, folder: Path, scale: Scale) -> Run:
    started_at, started = datetime.now(UTC), time.monotonic()
    load_before = load_average()
    with (
        open_stand(folder / "stand") as stand,
        stand.service() as service,
        stand.echo(content_bytes=texts.CONTENT_BYTES) as echo,
    ):
        bench = Bench(stand, scale, service=service, echo=echo, say=_say)
        reports = [_run_case(bench, name) for name in CASES if name in cases]
    return Run(
        started_at=started_at,
        seconds=time.monotonic() - started,
        scale=scale,
        python=platform.python_version(),
        machine=describe_machine(),
        processors=os.cpu_count(),
        load_before=load_before,
        load_after=load_average(),
        reports=reports,
    )


def _run_case(bench: Bench, name: str) -> Report:
    bench.say(name)
    started = time.monotonic()
    try:
        report = CASES[name](bench)
    except (RuntimeError, ValueError, OSError, subprocess.SubprocessError) as fault:
        # One case that cannot run must not take the others' results along.
        report = Report(case=name, fault=f"{type(fault).__name__}: {fault}")
    return msgspec.structs.replace(report, seconds=time.monotonic() - started)


def _say(line: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {line}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller and shorter, under a minute")
    parser.add_argument(
        "--only", action="append", choices=list(CASES), help="a case to run; may be repeated"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the results are kept")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is missed")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
