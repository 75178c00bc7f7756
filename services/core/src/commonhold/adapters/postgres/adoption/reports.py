"""What an adoption found, unit by unit and row by row."""

from typing import Literal, TypeAlias

import msgspec

UnitKind: TypeAlias = Literal["scope", "conversation"]
Verdict: TypeAlias = Literal["left out", "blanked", "kept unread"]


class OddRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the old tables that is not in the copy as it was.

    `kept unread` is one of a format that this release refuses to read.
    """

    verdict: Verdict
    kind: UnitKind
    unit: str
    name: str
    reason: str

    def __str__(self) -> str:
        place = f"{self.kind} {_shown(self.unit)}"
        row = f"{_shown(self.name)} in {place}" if self.name else place
        return f"{self.verdict}: {row}: {self.reason}"


class AdoptionReport(msgspec.Struct, frozen=True, kw_only=True):
    """`rows` are the old ones of all units, those that earlier runs copied included.

    Of the units `found` were there already and equal.
    """

    scopes: int
    conversations: int
    found: int
    rows: int
    odd: tuple[OddRow, ...]

    def odd_rows(self, verdict: Verdict) -> tuple[OddRow, ...]:
        return tuple(row for row in self.odd if row.verdict == verdict)


def _shown(name: str) -> str:
    """A name that the grammar would refuse, on one line."""
    return name if name.isprintable() and name else repr(name)
