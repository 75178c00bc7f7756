"""Rows without what they held: for an erasure, which nothing that a row says may stop.

docs/reference/filestore.md, sections 6 and 7. A row need not be one that this release reads.
"""

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import msgspec

from commonhold.adapters.file.faults import RowFaultError
from commonhold.adapters.file.lines import (
    PROJECTION_KEYS,
    PROJECTION_LOG,
    SIDECAR,
    TURN_KEYS,
    TURN_LOG,
    VERSION_KEYS,
    encode_row,
    invalid,
    malformed,
    stamp,
)
from commonhold.contract.ids import MAX_NUMBER

_object = msgspec.json.Decoder(dict[str, Any])


class Loose(msgspec.Struct, frozen=True):
    """What places a row that can be erased though it cannot be read, as far as it says so.

    `number` is 0 where it names none.
    """

    number: int
    path: str | None
    moment: datetime | None


def loose_version(line: bytes, *, number: int) -> Loose:
    """RowFaultError for a line that is no object even to a reader which forgives."""
    return _loose(_row(line, number=number, what=SIDECAR), "version")


def loose_turn(line: bytes, *, number: int) -> Loose:
    """As `loose_version`."""
    return _loose(_row(line, number=number, what=TURN_LOG), "turn")


def blank_version(line: bytes, *, number: int) -> bytes:
    """The row without content, of whatever format it is."""
    blank = {"content": "", "redacted": True}
    return _blanked(line, VERSION_KEYS, blank, number=number, what=SIDECAR)


def blank_turn(line: bytes, *, number: int) -> bytes:
    """The row without messages, of whatever format it is."""
    blank = {"messages": [], "redacted": True}
    return _blanked(line, TURN_KEYS, blank, number=number, what=TURN_LOG)


def blank_projection(line: bytes, *, number: int) -> bytes:
    """The row without text, of whatever format it is."""
    return _blanked(line, PROJECTION_KEYS, {"text": ""}, number=number, what=PROJECTION_LOG)


def projection_range(line: bytes, *, number: int) -> range:
    """The turns that an entry covers, of whatever format it is."""
    row = _row(line, number=number, what=PROJECTION_LOG)
    turn, span = row.get("turn"), row.get("span")
    if not isinstance(turn, int) or not isinstance(span, int):
        raise invalid(number, PROJECTION_LOG)
    return range(turn - span + 1, turn + 1)


def _row(line: bytes, *, number: int, what: str) -> dict[str, Any]:
    """The row for an erasure, which takes what other programs are known to write.

    NaN and lone surrogates are no JSON to a store that reads, and are no reason to keep what
    somebody asked to have erased.
    """
    try:
        return _object.decode(line)
    except msgspec.ValidationError:
        raise invalid(number, what) from None
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        row = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise malformed(number, what) from None
    if not isinstance(row, dict):
        raise invalid(number, what)
    return row


def _loose(row: Mapping[str, Any], name: str) -> Loose:
    number, path = row.get(name), row.get("path")
    try:
        moment = stamp(str(row.get("created_at")), number=0, what="")
    except RowFaultError:
        moment = None
    return Loose(
        number=number if type(number) is int and 1 <= number <= MAX_NUMBER else 0,
        path=path if isinstance(path, str) else None,
        moment=moment,
    )


def _blanked(
    line: bytes,
    names: Collection[str],
    blank: Mapping[str, Any],
    *,
    number: int,
    what: str,
) -> bytes:
    """The keys of the layout, in the order in which they stand: another could hold content.

    So could an object or an array, which no key that keeps its value has.
    """
    kept = {
        name: value
        for name, value in _row(line, number=number, what=what).items()
        if name in names and (name in blank or not isinstance(value, dict | list))
    }
    try:
        return encode_row({**kept, **blank})
    except (ValueError, RecursionError):
        # NaN where a number or a name of the layout stands: nobody could read the row again.
        raise invalid(number, what) from None
