"""Pages of listings and their cursors (docs/reference/stores.md, section 8)."""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import msgspec

from commonhold.contract.documents import MemoryVersion

PAGE_SIZE = 500
# A page of heavy rows ends here, before its limit, so that no caller has to hold them all; and
# an edge asks for no more at once.
PAGE_BYTES = 8 * 1024 * 1024

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """Rows, and the cursor behind the last of them: None exactly when nothing follows."""

    items: tuple[T, ...] = ()
    next_cursor: str | None = None


class ListPosition(
    msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="list"
):
    path: str


class DigestsPosition(
    msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="digests"
):
    path: str


class AgedPosition(
    msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="aged"
):
    path: str


class VersionsPosition(
    msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="versions"
):
    version: int


class HistoryPosition(
    msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="history"
):
    """`created_at` in whole microseconds since 1970, as in TrailPosition."""

    created_at: int
    path: str
    version: int


class TrailPosition(
    msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="trail"
):
    created_at: int
    row: int


Position = TypeVar(
    "Position",
    ListPosition,
    DigestsPosition,
    AgedPosition,
    VersionsPosition,
    HistoryPosition,
    TrailPosition,
)

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_LARGEST = 2**63 - 1
# No position is longer than two names and two numbers.
_LONGEST_CURSOR = 4096


def encode_cursor(position: msgspec.Struct) -> str:
    """An opaque text that names the position behind one row."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode()


def decode_cursor(cursor: str, kind: type[Position]) -> Position:
    """The position a cursor names; ValueError for any text that is not such a cursor."""
    if len(cursor) > _LONGEST_CURSOR:
        raise _malformed(cursor, kind)
    try:
        raw = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
        position = msgspec.json.decode(raw, type=kind)
        _require_numbers(position)
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        raise _malformed(cursor, kind) from None
    return position


def _malformed(cursor: str, kind: type[msgspec.Struct]) -> ValueError:
    return ValueError(f"malformed {kind.__struct_config__.tag} cursor: {cursor!r}")


def to_microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(count: int) -> datetime:
    return _EPOCH + timedelta(microseconds=count)


def page_of(rows: Sequence[T], *, limit: int, position: Callable[[T], msgspec.Struct]) -> Page[T]:
    """A page from up to `limit + 1` rows; `position` makes the cursor's record of a row."""
    if len(rows) <= limit:
        return Page(items=tuple(rows))
    items = tuple(rows[:limit])
    return Page(items=items, next_cursor=encode_cursor(position(items[-1])))


def history_position(row: MemoryVersion) -> HistoryPosition:
    return HistoryPosition(
        created_at=to_microseconds(row.created_at), path=row.path, version=row.version
    )


def follows_history(row: HistoryPosition, last: HistoryPosition) -> bool:
    """Whether a row comes behind a position: stamps fall, then paths rise, then versions fall."""
    if row.created_at != last.created_at:
        return row.created_at < last.created_at
    return (row.path, -row.version) > (last.path, -last.version)


def follows_trail(act: TrailPosition, last: TrailPosition) -> bool:
    """Whether an act comes behind a position: stamps fall, then row numbers."""
    return (act.created_at, act.row) < (last.created_at, last.row)


def _require_numbers(position: msgspec.Struct) -> None:
    for field in position.__struct_fields__:
        value = getattr(position, field)
        if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
            raise ValueError("number out of range")
    if isinstance(position, HistoryPosition | TrailPosition):
        try:
            from_microseconds(position.created_at)
        except OverflowError:
            raise ValueError("stamp out of range") from None
    path = getattr(position, "path", "")
    if "\x00" in path:
        raise ValueError("not a path")
