"""Moving a store whole: unit by unit, verbatim, into places that are empty.

docs/reference/stores.md, section 22. Memory is bounded by the largest unit.
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from commonhold.contract.documents import ScopeArchive
from commonhold.contract.errors import (
    CommonholdError,
    ConversationFormatError,
    MemoryConflictError,
    MemoryFormatError,
    PathInvalidError,
    ScopeInvalidError,
)
from commonhold.contract.turns import ConversationArchive
from commonhold.usecases.transfers.archives import (
    Source,
    archive_conversation,
    archive_scope,
)
from commonhold.usecases.transfers.units import Choice, Target, Unit, require_free, units_of

EVERYTHING = Choice()
# Of a unit that cannot move: the store is fine, the others go on.
_OF_THE_UNIT = frozenset({"layout_clash", "case_collision"})
_REFUSALS = (MemoryFormatError, ConversationFormatError, PathInvalidError, ScopeInvalidError)


class UnitReport(msgspec.Struct, frozen=True, kw_only=True):
    """What moved of one unit; `error` says why nothing did."""

    unit: Unit
    documents: int = 0
    versions: int = 0
    redactions: int = 0
    turns: int = 0
    projections: int = 0
    error: str | None = None

    @property
    def is_empty(self) -> bool:
        counts = (self.documents, self.versions, self.redactions, self.turns, self.projections)
        return not any(counts)


class TransferReport(msgspec.Struct, frozen=True):
    """`are_named` says whether the caller chose the units, or whatever is there was moved."""

    units: tuple[UnitReport, ...]
    are_named: bool

    @property
    def moved(self) -> tuple[UnitReport, ...]:
        """Those of which something is in the target now."""
        return tuple(unit for unit in self.units if unit.error is None and not unit.is_empty)

    @property
    def failed(self) -> tuple[UnitReport, ...]:
        return tuple(unit for unit in self.units if unit.error is not None)

    @property
    def missing(self) -> tuple[UnitReport, ...]:
        """Those that were named and of which the source holds nothing.

        One that nobody named, such as a file of lines without a line, is missed by nobody.
        """
        if not self.are_named:
            return ()
        return tuple(unit for unit in self.units if unit.error is None and unit.is_empty)

    @property
    def is_whole(self) -> bool:
        return not (self.failed or self.missing)


Started: TypeAlias = Callable[[tuple[Unit, ...]], None]
Moved: TypeAlias = Callable[[UnitReport], None]


async def transfer(
    source: Source,
    target: Target,
    *,
    choice: Choice = EVERYTHING,
    started: Started = lambda _units: None,
    moved: Moved = lambda _report: None,
) -> TransferReport:
    """Copy units, each whole or not at all; the source is only read.

    All places are looked at before the first unit is written: one that holds anything is
    the conflict that is raised (`target_occupied`), and nothing was written. A unit that
    cannot be read or does not fit is reported with its reason, and the others go on. So are
    all conversations, under the name `*`, when the source cannot list them.
    """
    found = await units_of(source, choice)
    await require_free(target, found.units)
    started(found.units)
    reports = []
    for unit in found.units:
        report = await _move(source, target, unit)
        moved(report)
        reports.append(report)
    refused = (_failed(unit, error) for unit, error in found.refused)
    return TransferReport((*reports, *refused), are_named=not choice.is_everything)


async def _move(source: Source, target: Target, unit: Unit) -> UnitReport:
    try:
        if unit.kind == "scope":
            return await _move_scope(target, await archive_scope(source, unit.name), unit)
        archive = await archive_conversation(source, unit.name)
        return await _move_conversation(target, archive, unit)
    except _REFUSALS as error:
        return _failed(unit, error)
    except MemoryConflictError as error:
        if error.reason not in _OF_THE_UNIT:
            raise
        return _failed(unit, error)
    except ValueError as error:
        return _failed(unit, error)


async def _move_scope(target: Target, archive: ScopeArchive, unit: Unit) -> UnitReport:
    report = UnitReport(
        unit=unit,
        documents=len(archive.documents),
        versions=len(archive.versions),
        redactions=len(archive.redactions),
    )
    if not report.is_empty:
        await target.restore_scope(archive)
    return report


async def _move_conversation(
    target: Target, archive: ConversationArchive, unit: Unit
) -> UnitReport:
    report = UnitReport(
        unit=unit,
        turns=len(archive.turns),
        projections=len(archive.projections),
        redactions=len(archive.redactions),
    )
    if not report.is_empty:
        await target.restore_conversation(archive)
    return report


def _failed(unit: Unit, error: Exception) -> UnitReport:
    code = f"[{error.code}] " if isinstance(error, CommonholdError) else ""
    # A store of files says in a note where it met the fault.
    place = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    return UnitReport(unit=unit, error=f"{code}{error}{place}")
