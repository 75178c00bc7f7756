"""A transfer in front of a person: moving bars on a terminal, then a line a unit."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from commonhold.cli.consoles import make_console
from commonhold.cli.errors import UsageError
from commonhold.cli.outcomes import answer
from commonhold.cli.stores import OperatedStore, RootSettings, StoreSettings, open_store
from commonhold.contract.errors import (
    CommonholdError,
    ConfigurationError,
    ConversationConflictError,
    ConversationIdInvalidError,
    MemoryConflictError,
    ScopeInvalidError,
)
from commonhold.usecases.transfers.transfers import TransferReport, UnitReport, transfer
from commonhold.usecases.transfers.units import Choice, Target, Unit, taken_of, units_of

_FAILED = 1
# As many names as a person reads, and as many flags as a command line is made of.
_MOST_TAKEN = 10
_MOST_NAMED = 200


def choose_units(scopes: Sequence[str] | None, conversations: Sequence[str] | None) -> Choice:
    """The units that flags name; UsageError for a name outside its grammar."""
    choice = Choice(scopes=tuple(scopes or ()), conversations=tuple(conversations or ()))
    try:
        choice.check()
    except (ScopeInvalidError, ConversationIdInvalidError) as error:
        raise UsageError(str(error)) from None
    return choice


def run_export(folder: Path, units: Choice, store: StoreSettings, *, as_json: bool) -> int:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a directory")

    async def run() -> tuple[TransferReport, str | None]:
        async with open_store(store) as source, open_store(RootSettings(root=folder)) as target:
            return await _move(source.store, target.store, units), source.client

    report, client = asyncio.run(run())
    last = f"exported {_counted(report)} to {folder}" if _did(report) else "nothing to export"
    return _show(report, _envelope("export", folder, client, report), last, as_json=as_json)


def run_import(folder: Path, units: Choice, store: StoreSettings, *, as_json: bool) -> int:
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a directory")

    async def run() -> tuple[TransferReport, str | None]:
        async with open_store(RootSettings(root=folder)) as source, open_store(store) as target:
            return await _move(source.store, target.store, units), target.client

    report, client = asyncio.run(run())
    last = f"imported {_counted(report)} from {folder}" if _did(report) else "nothing to import"
    return _show(report, _envelope("import", folder, client, report), last, as_json=as_json)


async def _move(source: OperatedStore, target: OperatedStore, choice: Choice) -> TransferReport:
    """The transfer; an error that stops it says how to go on."""
    if not isinstance(target, Target):
        raise ConfigurationError(f"{type(target).__name__} takes no whole units")
    left: dict[Unit, None] = {}
    with _Bars() as bars:

        def start(units: tuple[Unit, ...]) -> None:
            left.update(dict.fromkeys(units))
            bars.start(units)

        def move(report: UnitReport) -> None:
            del left[report.unit]
            bars.advance(report)

        try:
            return await transfer(source, target, choice=choice, started=start, moved=move)
        except (MemoryConflictError, ConversationConflictError) as error:
            # The conflict stands, whether or not what is there can still be told.
            with suppress(CommonholdError):
                units = tuple(left) or (await units_of(source, choice)).units
                taken = await taken_of(target, units)
                error.add_note(_way_on(taken, [unit for unit in units if unit not in taken]))
            raise
        except CommonholdError as error:
            if left:
                error.add_note(_way_on((), list(left)))
            raise


def _way_on(taken: Sequence[Unit], left: Sequence[Unit]) -> str:
    """What is there already, and the flags that move the rest."""
    there = f"there already: {_listed(taken)}; " if taken else ""
    if not left:
        return f"{there}nothing else is left to move"
    if len(left) > _MOST_NAMED:
        return f"{there}name the other {len(left)} with --scope and --conversation"
    flags = " ".join(f"--{unit.kind} {unit.name}" for unit in left)
    return f"{there}to move the rest alone: {flags}"


def _listed(units: Sequence[Unit]) -> str:
    more = len(units) - _MOST_TAKEN
    names = ", ".join(map(str, units[:_MOST_TAKEN]))
    return names if more <= 0 else f"{names} and {more} more"


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
    for one in report.failed:
        print(f"error: {one.unit} was left out: {one.error}", file=sys.stderr)
    for one in report.missing:
        print(f"warning: {one.unit} holds nothing", file=sys.stderr)
    return 0 if report.is_whole else _FAILED


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


def _did(report: TransferReport) -> bool:
    return bool(report.moved or report.failed)


def _counted(report: TransferReport) -> str:
    moved = [one.unit.kind for one in report.moved]
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
        "missing": [{"kind": one.unit.kind, "name": one.unit.name} for one in report.missing],
    }
