"""What a run asks of scopes and of conversations alike."""

from collections.abc import Sequence
from typing import Protocol

import asyncpg
import msgspec

from commonhold.adapters.postgres.adoption.reports import OddRow, UnitKind, Verdict
from commonhold.contract.documents import MEMORY_FORMAT
from commonhold.contract.errors import CommonholdError
from commonhold.contract.turns import CONVERSATION_FORMAT
from commonhold.migrations.connections import Connection

KNOWN_FORMAT = {"scope": MEMORY_FORMAT, "conversation": CONVERSATION_FORMAT}
MISSED = "an erasure had left its content"


class UnitQueries(msgspec.Struct, frozen=True, kw_only=True):
    """Names behind a name in the order of the old database, their rows, and which are taken."""

    page: str
    measure: str
    taken: str


class Landing(msgspec.Struct, frozen=True, kw_only=True):
    """Which units are not what the old tables say, and the rows that are not as they were."""

    differing: frozenset[str]
    odd: tuple[OddRow, ...]


class UnitTables(Protocol):
    """The tables of one kind of unit. Calls belong to the transaction that is open."""

    kind: UnitKind
    queries: UnitQueries

    def fault_of(self, name: str) -> str | None:
        """Why no unit can have the name."""
        ...

    def conflict(self, name: str) -> CommonholdError:
        """The refusal of a unit whose place holds something else."""
        ...

    async def claim(self, conn: Connection, names: Sequence[str]) -> set[str]:
        """Lock the places of the units; which of them are free."""
        ...

    async def land(self, conn: Connection, names: Sequence[str], *, is_fresh: bool) -> Landing:
        """Copy units that are fresh; compare every row of the units with what it came from."""
        ...


def odd_row(row: asyncpg.Record, *, kind: UnitKind) -> OddRow:
    """A row of the listings of odd ones; what cannot land is neither blanked nor kept."""
    verdict: Verdict
    if row["fault"] is not None:
        verdict, reason = "left out", row["fault"]
    elif row["missed"]:
        verdict, reason = "blanked", MISSED
    else:
        verdict, reason = "kept unread", format_reason(row["format"], kind=kind)
    return OddRow(verdict=verdict, kind=kind, unit=row["unit"], name=row["name"], reason=reason)


def format_reason(found: int, *, kind: UnitKind) -> str:
    return f"its format is {found}, this release reads {KNOWN_FORMAT[kind]}"
