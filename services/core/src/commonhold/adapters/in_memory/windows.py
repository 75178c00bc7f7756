"""Limits over rows that are in order already, and which rows follow a position."""

import sys
from collections.abc import Iterable
from itertools import islice
from typing import TypeVar

from commonhold.adapters.in_memory.rows import RedactionRow
from commonhold.contract.documents import MemoryVersion
from commonhold.contract.limits import require_memory_limit
from commonhold.contract.paging import (
    HistoryPosition,
    TrailPosition,
    to_microseconds,
)

T = TypeVar("T")


def take(rows: Iterable[T], *, limit: int | None) -> tuple[T, ...]:
    """The first `limit` rows, all of them for None."""
    require_memory_limit(limit)
    if limit is None:
        return tuple(rows)
    return tuple(islice(rows, min(limit, sys.maxsize)))


def history_position(row: MemoryVersion) -> HistoryPosition:
    return HistoryPosition(
        created_at=to_microseconds(row.created_at), path=row.path, version=row.version
    )


def trail_position(act: RedactionRow) -> TrailPosition:
    return TrailPosition(created_at=to_microseconds(act.record.created_at), row=act.row_id)


def follows_history(row: MemoryVersion, last: HistoryPosition) -> bool:
    """Whether a row comes behind a position: stamps fall, then paths rise, then versions fall."""
    here = history_position(row)
    if here.created_at != last.created_at:
        return here.created_at < last.created_at
    return (here.path, -here.version) > (last.path, -last.version)


def follows_trail(act: RedactionRow, last: TrailPosition) -> bool:
    """Whether an act comes behind a position: stamps fall, then row ids."""
    here = trail_position(act)
    return (here.created_at, here.row) < (last.created_at, last.row)
