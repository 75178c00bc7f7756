"""Files of JSON lines: the rows of both seams, and what is wrong with one that is not.

docs/reference/filestore.md, sections 3 to 5. A line that cannot be read refuses its file's
answer and is never passed over.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from commonhold.adapters.file.faults import RowFaultError
from commonhold.contract.clock import format_timestamp
from commonhold.contract.documents import (
    MEMORY_FORMAT,
    MemoryRedaction,
    MemoryVersion,
    VersionAction,
)
from commonhold.contract.ids import MAX_NUMBER
from commonhold.contract.messages import Message, encode_messages, load_messages, message_fault
from commonhold.contract.turns import (
    CONVERSATION_FORMAT,
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
    ProjectionKind,
)

SIDECAR = "sidecar"
MEMORY_TRAIL = "redaction trail"
TURN_LOG = "turn-log"
PROJECTION_LOG = "projection-log"
TURN_TRAIL = "turn-redaction"

Line = TypeVar("Line", bound=msgspec.Struct)


class VersionMark(msgspec.Struct, frozen=True):
    """As much of a version row as orders it, and whether it is blank."""

    neosian_format: int
    version: int
    created_at: str
    path: str
    redacted: bool = False


class TurnMark(msgspec.Struct, frozen=True):
    """As much of a turn row as orders it."""

    neosian_format: int
    turn: int
    created_at: str


class _VersionLine(msgspec.Struct, frozen=True):
    neosian_format: int
    path: str
    version: int
    action: VersionAction
    content: str
    created_at: str
    actor: str | None = None
    redacted: bool = False


class _TrailLine(msgspec.Struct, frozen=True):
    ts: str
    path: str | None
    count: int
    actor: str | None = None


class _TurnLine(msgspec.Struct, frozen=True):
    neosian_format: int
    turn: int
    created_at: str
    messages: msgspec.Raw
    actor: str | None = None
    redacted: bool = False


class _ProjectionLine(msgspec.Struct, frozen=True):
    neosian_format: int
    turn: int
    span: int
    kind: ProjectionKind
    text: str


class _TurnTrailLine(msgspec.Struct, frozen=True):
    neosian_format: int
    created_at: str
    turns: list[int]
    actor: str | None = None


class _Marker(msgspec.Struct, frozen=True):
    neosian_format: int


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_version_mark = msgspec.json.Decoder(VersionMark)
_turn_mark = msgspec.json.Decoder(TurnMark)
_version_line = msgspec.json.Decoder(_VersionLine)
_trail_line = msgspec.json.Decoder(_TrailLine)
_turn_line = msgspec.json.Decoder(_TurnLine)
_projection_line = msgspec.json.Decoder(_ProjectionLine)
_turn_trail_line = msgspec.json.Decoder(_TurnTrailLine)
_marker = msgspec.json.Decoder(_Marker)

VERSION_KEYS = _VersionLine.__struct_fields__
TURN_KEYS = _TurnLine.__struct_fields__
PROJECTION_KEYS = _ProjectionLine.__struct_fields__


def split_lines(raw: bytes) -> list[bytes]:
    """The lines; the last one may have lost its newline to an editor."""
    lines = raw.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def encode_row(row: Mapping[str, Any]) -> bytes:
    """One line: compact, every letter beyond ASCII escaped."""
    return _encode(row).encode("ascii") + b"\n"


def encode_version(row: MemoryVersion) -> bytes:
    """As `encode_row`, in half its time: a store has more of these than of anything else."""
    actor = "null" if row.actor is None else _encode(row.actor)
    return (
        f'{{"neosian_format":{MEMORY_FORMAT},"path":{_encode(row.path)},"version":{row.version},'
        f'"action":"{row.action}","content":{_encode(row.content)},"actor":{actor},'
        f'"created_at":"{format_timestamp(row.created_at)}",'
        f'"redacted":{"true" if row.redacted else "false"}}}\n'
    ).encode("ascii")


def encode_memory_redaction(act: MemoryRedaction) -> bytes:
    return encode_row(
        {
            "ts": format_timestamp(act.created_at),
            "actor": act.actor,
            "path": act.path,
            "count": act.count,
        }
    )


def encode_turn(turn: ConversationTurn) -> bytes:
    """Messages by way of their stored form, so that all stores keep the same of them."""
    row: dict[str, Any] = {
        "neosian_format": CONVERSATION_FORMAT,
        "turn": turn.turn,
        "created_at": format_timestamp(turn.created_at),
        "messages": json.loads(encode_messages(turn.messages)),
        "actor": turn.actor,
    }
    if turn.redacted:
        row["redacted"] = True
    return encode_row(row)


def encode_projection(entry: ConversationProjection) -> bytes:
    return encode_row(
        {
            "neosian_format": CONVERSATION_FORMAT,
            "turn": entry.turn,
            "span": entry.span,
            "kind": entry.kind,
            "text": entry.text,
        }
    )


def encode_turn_redaction(act: ConversationRedaction) -> bytes:
    return encode_row(
        {
            "neosian_format": CONVERSATION_FORMAT,
            "created_at": format_timestamp(act.created_at),
            "actor": act.actor,
            "turns": list(act.turns),
        }
    )


def version_mark(line: bytes, *, number: int) -> VersionMark:
    return _decoded(_version_mark, line, number=number, what=SIDECAR)


def turn_mark(line: bytes, *, number: int) -> TurnMark:
    """Of a row of any format, whose number places it: one that no turn has is a fault."""
    mark = _decoded(_turn_mark, line, number=number, what=TURN_LOG)
    if not 1 <= mark.turn <= MAX_NUMBER:
        if mark.neosian_format > CONVERSATION_FORMAT:
            raise _newer(mark.neosian_format, number, TURN_LOG)
        raise invalid(number, TURN_LOG)
    return mark


def decode_version(line: bytes, *, number: int) -> MemoryVersion:
    row = _decoded(_version_line, line, number=number, what=SIDECAR)
    _require_format(row.neosian_format, MEMORY_FORMAT, number=number, what=SIDECAR)
    if not 1 <= row.version <= MAX_NUMBER:
        raise invalid(number, SIDECAR)
    return MemoryVersion(
        path=row.path,
        version=row.version,
        action=row.action,
        content=row.content,
        actor=row.actor,
        created_at=stamp(row.created_at, number=number, what=SIDECAR),
        redacted=row.redacted,
    )


def decode_memory_redaction(line: bytes, *, number: int) -> MemoryRedaction:
    row = _decoded(_trail_line, line, number=number, what=MEMORY_TRAIL)
    if row.count < 0:
        raise invalid(number, MEMORY_TRAIL)
    return MemoryRedaction(
        path=row.path,
        actor=row.actor,
        created_at=stamp(row.ts, number=number, what=MEMORY_TRAIL),
        count=row.count,
    )


def decode_turn(line: bytes, *, number: int, conversation_id: str) -> ConversationTurn:
    row = _decoded(_turn_line, line, number=number, what=TURN_LOG)
    _require_format(row.neosian_format, CONVERSATION_FORMAT, number=number, what=TURN_LOG)
    messages = _messages(row.messages, number=number)
    if bool(messages) == row.redacted or not 1 <= row.turn <= MAX_NUMBER:
        raise invalid(number, TURN_LOG)
    return ConversationTurn(
        conversation_id=conversation_id,
        turn=row.turn,
        messages=messages,
        created_at=stamp(row.created_at, number=number, what=TURN_LOG),
        actor=row.actor,
        redacted=row.redacted,
    )


def decode_projection(line: bytes, *, number: int) -> ConversationProjection:
    row = _decoded(_projection_line, line, number=number, what=PROJECTION_LOG)
    _require_format(row.neosian_format, CONVERSATION_FORMAT, number=number, what=PROJECTION_LOG)
    try:
        return ConversationProjection(turn=row.turn, kind=row.kind, text=row.text, span=row.span)
    except ValueError:
        raise invalid(number, PROJECTION_LOG) from None


def decode_turn_redaction(
    line: bytes, *, number: int, conversation_id: str
) -> ConversationRedaction:
    row = _decoded(_turn_trail_line, line, number=number, what=TURN_TRAIL)
    _require_format(row.neosian_format, CONVERSATION_FORMAT, number=number, what=TURN_TRAIL)
    if not row.turns or not all(1 <= turn <= MAX_NUMBER for turn in row.turns):
        raise invalid(number, TURN_TRAIL)
    return ConversationRedaction(
        conversation_id=conversation_id,
        turns=tuple(sorted(set(row.turns))),
        actor=row.actor,
        created_at=stamp(row.created_at, number=number, what=TURN_TRAIL),
    )


def stamp(text: str, *, number: int, what: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        if moment.utcoffset() is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise invalid(number, what)


def _messages(raw: msgspec.Raw, *, number: int) -> tuple[Message, ...]:
    try:
        return load_messages(bytes(raw))
    except (ValueError, RecursionError) as error:
        reason = f"{TURN_LOG} line {number} {message_fault(error)}"
        raise RowFaultError(reason, line=number) from None


def _decoded(decoder: msgspec.json.Decoder[Line], line: bytes, *, number: int, what: str) -> Line:
    try:
        return decoder.decode(line)
    except msgspec.ValidationError:
        newer = _newer_format(line)
        if newer is None:
            raise invalid(number, what) from None
        raise _newer(newer, number, what) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise malformed(number, what) from None


def _newer_format(line: bytes) -> int | None:
    """A row of a later format may have any other fields."""
    try:
        found = _marker.decode(line).neosian_format
    except msgspec.MsgspecError:
        return None
    return found if found > MEMORY_FORMAT else None


def _require_format(found: int, known: int, *, number: int, what: str) -> None:
    if found > known:
        raise _newer(found, number, what)
    if found != known:
        raise invalid(number, what)


def malformed(number: int, what: str) -> RowFaultError:
    return RowFaultError(f"malformed {what} line {number}", line=number)


def invalid(number: int, what: str) -> RowFaultError:
    return RowFaultError(f"{what} line {number} has invalid fields", line=number)


def _newer(found: int, number: int, what: str) -> RowFaultError:
    return RowFaultError(
        f"{what} line {number} format {found} is newer than supported", line=number
    )
