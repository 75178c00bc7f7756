"""A transfer in front of a person: moving bars on a terminal, then a line a unit."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from commonhold.cli.consoles import make_console
from commonhold.cli.errors import UsageError
from commonhold.cli.outcomes import answer
from commonhold.cli.store_choices import (
    StoreChoice,
    choose_store,
    files_at,
    open_choice,
)
from commonhold.contract.errors import (
    ConfigurationError,
    ConversationIdInvalidError,
    ScopeInvalidError,
)
from commonhold.usecases.transfers.archives import Source
from commonhold.usecases.transfers.transfers import TransferReport, UnitReport, transfer
from commonhold.usecases.transfers.units import Choice, Target, Unit

__all__ = ["choose_store", "choose_units", "run_export", "run_import"]

_FAILED = 1


def choose_units(scopes: Sequence[str] | None, conversations: Sequence[str] | None) -> Choice:
    """The units that flags name; UsageError for a name outside its grammar."""
    choice = Choice(scopes=tuple(scopes or ()), conversations=tuple(conversations or ()))
    try:
        choice.check()
    except (ScopeInvalidError, ConversationIdInvalidError) as error:
        raise UsageError(str(error)) from None
    return choice


def run_export(folder: Path, units: Choice, store: StoreChoice, *, as_json: bool) -> int:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a directory")

    async def run() -> tuple[TransferReport, str | None]:
        async with open_choice(store) as source, files_at(folder) as target:
            return await _move(source.store, target, units), source.client

    report, client = asyncio.run(run())
    last = f"exported {_counted(report)} to {folder}" if report.units else "nothing to export"
    return _show(report, _envelope("export", folder, client, report), last, as_json=as_json)


def run_import(folder: Path, units: Choice, store: StoreChoice, *, as_json: bool) -> int:
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a directory")

    async def run() -> tuple[TransferReport, str | None]:
        async with files_at(folder) as source, open_choice(store) as target:
            return await _move(source, _portable(target.store), units), target.client

    report, client = asyncio.run(run())
    last = f"imported {_counted(report)} from {folder}" if report.units else "nothing to import"
    return _show(report, _envelope("import", folder, client, report), last, as_json=as_json)


async def _move(source: Source, target: Target, units: Choice) -> TransferReport:
    with _Bars() as bars:
        return await transfer(source, target, choice=units, started=bars.start, moved=bars.advance)


def _portable(store: Source) -> Target:
    if not isinstance(store, Target):
        raise ConfigurationError(f"{type(store).__name__} takes no whole units")
    return store


class _Bars:
    """Units and rows as they move, on a terminal's stderr; nothing anywhere else."""

    def __init__(self) -> None:
        console = make_console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rows]} rows"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._rows = {"scope": 0, "conversation": 0}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def start(self, units: tuple[Unit, ...]) -> None:
        for kind in ("scope", "conversation"):
            total = sum(unit.kind == kind for unit in units)
            if total:
                self._tasks[kind] = self._progress.add_task(f"{kind}s", total=total, rows=0)

    def advance(self, report: UnitReport) -> None:
        kind = report.unit.kind
        self._rows[kind] += report.versions + report.turns
        self._progress.update(self._tasks[kind], advance=1, rows=self._rows[kind])


def _show(report: TransferReport, envelope: dict[str, Any], last: str, *, as_json: bool) -> int:
    answer(envelope, _lines(report, last), as_json=as_json)
    for one in report.units:
        if one.error is not None:
            print(f"error: {one.unit} was left out: {one.error}", file=sys.stderr)
        elif one.is_empty:
            print(f"warning: {one.unit} holds nothing", file=sys.stderr)
    return _FAILED if report.failed else 0


def _lines(report: TransferReport, last: str) -> Iterator[str]:
    for one in report.units:
        if one.error is None:
            yield f"{one.unit.kind:<12} {one.unit.name}  {_rows_of(one)}"
    yield last


def _rows_of(one: UnitReport) -> str:
    if one.unit.kind == "scope":
        counts = ((one.documents, "document"), (one.versions, "version"))
    else:
        counts = ((one.turns, "turn"), (one.projections, "projection"))
    return "  ".join(_plural(*count) for count in (*counts, (one.redactions, "redaction")))


def _counted(report: TransferReport) -> str:
    moved = [one.unit.kind for one in report.units if one.error is None]
    scopes, conversations = moved.count("scope"), moved.count("conversation")
    return f"{_plural(scopes, 'scope')}, {_plural(conversations, 'conversation')}"


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _envelope(
    verb: str, folder: Path, client: str | None, report: TransferReport
) -> dict[str, Any]:
    return {
        "verb": verb,
        "archive": str(folder.absolute()),
        "client": client,
        "units": [
            {
                "kind": one.unit.kind,
                "name": one.unit.name,
                "documents": one.documents,
                "versions": one.versions,
                "redactions": one.redactions,
                "turns": one.turns,
                "projections": one.projections,
            }
            for one in report.units
            if one.error is None
        ],
        "failed": [
            {"kind": one.unit.kind, "name": one.unit.name, "error": one.error}
            for one in report.failed
        ],
    }
