"""A run of the wire's kit in front of a person, or as one object for a program."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.progress import Progress

from commonhold.cli.consoles import make_console
from commonhold.cli.errors import CommandError, UsageError
from commonhold.cli.outcomes import print_object
from commonhold.conformance.badges import release
from commonhold.conformance.wire import (
    CASES,
    Case,
    Outcome,
    Report,
    ServiceUnusableError,
    WireService,
    run_kit,
)

_STYLES = {"pass": "green", "fail": "bold red", "not supported": "yellow"}


def choose_cases(only: Sequence[str]) -> tuple[Case, ...]:
    """The cases that hold one of the texts; all of them when none is given."""
    chosen = tuple(case for case in CASES if not only or _holds(case, only))
    if not chosen:
        raise UsageError("--only leaves no case")
    return chosen


async def certify(url: str, token: str, *, cases: Sequence[Case], as_json: bool) -> bool:
    """Run and print; whether nothing failed."""
    try:
        async with WireService(url, token) as service:
            report = await _run(service, cases, shown=not as_json)
    except ServiceUnusableError as error:
        raise CommandError(str(error)) from error
    if as_json:
        print_object(_as_object(service, report))
    else:
        console = make_console()
        for line in _summary(service, report):
            console.print(line)
    return report.count("fail") == 0


async def _run(service: WireService, cases: Sequence[Case], *, shown: bool) -> Report:
    console = make_console()
    hidden = not (shown and console.is_terminal)
    with Progress(console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("cases", total=len(cases))

        def show(outcome: Outcome) -> None:
            progress.advance(task)
            if shown:
                _show(console, outcome)

        return await run_kit(service, cases=cases, report=show)


def _holds(case: Case, texts: Sequence[str]) -> bool:
    return any(text in f"{case.group}: {case.name}" for text in texts)


def _show(console: Console, outcome: Outcome) -> None:
    line = f"{outcome.verdict:<13}  {outcome.case.group:<12}  {outcome.case.name}"
    console.print(line, style=_STYLES[outcome.verdict])
    if outcome.verdict == "fail":
        for detail in outcome.detail.splitlines():
            console.print(f"               {detail}")


def _summary(service: WireService, report: Report) -> Iterator[str]:
    passed, failed = report.count("pass"), report.count("fail")
    yield f"{passed} passed, {failed} failed, {report.count('not supported')} not supported"
    if not failed and len(report.outcomes) == len(CASES):
        yield f"{service.url} passes the Commonhold wire kit at {release()}"


def _as_object(service: WireService, report: Report) -> dict[str, Any]:
    return {
        "verb": "conformance",
        "url": service.url,
        "client": service.capabilities.client,
        "backend": service.capabilities.backend,
        "release": release(),
        "passed": report.count("pass"),
        "failed": report.count("fail"),
        "not_supported": report.count("not supported"),
        "cases": [
            {
                "group": outcome.case.group,
                "name": outcome.case.name,
                "verdict": outcome.verdict,
                "detail": outcome.detail or None,
            }
            for outcome in report.outcomes
        ],
    }
