"""The document file: YAML between two fences, then the content to the end of the file.

docs/reference/filestore.md, section 2. What the store writes itself is read and written
without a YAML library; whatever else a root may hold goes through one.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import msgspec

from commonhold.adapters.file.faults import RowFaultError
from commonhold.adapters.file.headers import dump_mapping, load_mapping
from commonhold.contract.clock import format_timestamp
from commonhold.contract.documents import MEMORY_FORMAT
from commonhold.contract.extras import BEYOND_NUMBERS, RESERVED_KEYS
from commonhold.contract.ids import MAX_NUMBER
from commonhold.contract.text import has_lone_surrogate

_FENCE = b"---"
# An actor that YAML writes as it is and can take for nothing but a string.
_PLAIN_ACTOR = re.compile(
    r"[a-z][a-z_-]*:[A-Za-z][A-Za-z0-9_.-]*(?:/[a-z][a-z_-]*:[A-Za-z0-9_.-]+)*"
)
_OWN_HEADER = re.compile(
    rb"neosian_format: 1\n"
    rb"version: ([1-9][0-9]{0,8})\n"
    rb"created_at: '([0-9T:.Z-]+)'\n"
    rb"updated_at: '([0-9T:.Z-]+)'\n"
    rb"(?:actor: (" + _PLAIN_ACTOR.pattern.encode() + rb")\n)?"
    rb"(redacted: true\n)?"
)
_OWN_ENVELOPE = re.compile(rb"---\n(" + _OWN_HEADER.pattern + rb")---\n")


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What stands above the content. `extra` is as the YAML has it, dates and all."""

    version: int
    created_at: datetime
    updated_at: datetime
    actor: str | None = None
    redacted: bool = False
    extra: Mapping[str, Any] = {}


def split_envelope(raw: bytes) -> tuple[bytes, bytes]:
    """The YAML and the content; RowFaultError without both fences."""
    own = _OWN_ENVELOPE.match(raw)
    if own is not None:
        return own[1], raw[own.end() :]
    first, newline, _ = raw.partition(b"\n")
    if first.removesuffix(b"\r") != _FENCE:
        raise RowFaultError("missing envelope fence", line=1)
    start = len(first) + len(newline)
    end = start
    while end < len(raw):
        stop = raw.find(b"\n", end)
        line = raw[end:] if stop < 0 else raw[end:stop]
        if line.removesuffix(b"\r") == _FENCE:
            return raw[start:end], b"" if stop < 0 else raw[stop + 1 :]
        if stop < 0:
            break
        end = stop + 1
    raise RowFaultError("unterminated envelope fence")


def decode_envelope(header: bytes, *, of_any_format: bool = False) -> Envelope:
    """RowFaultError for what is not an envelope of this format.

    `of_any_format` is how an erasure looks: without the keys that no call could read.
    """
    own = _OWN_HEADER.fullmatch(header)
    if own is None:
        mapping = load_mapping(header, drops_unbounded=of_any_format)
        if not of_any_format:
            _require_format(mapping)
        return _envelope_of(mapping)
    version, created_at, updated_at, actor, redacted = own.groups()
    return Envelope(
        version=int(version),
        created_at=_stamp(created_at.decode(), "created_at"),
        updated_at=_stamp(updated_at.decode(), "updated_at"),
        actor=None if actor is None else actor.decode(),
        redacted=redacted is not None,
    )


def decode_content(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise RowFaultError("content is not UTF-8") from None


def encode_document(envelope: Envelope, content: str) -> bytes:
    """The file; `extra` is what `check_extra` of the contract lets through."""
    return b"---\n%s---\n%s" % (_encode_envelope(envelope).encode(), content.encode())


def blanked(raw: bytes) -> bytes:
    """The same document without content, marked as redacted, of whatever format it is.

    Keys of `extra` go when they cannot be written out: no call reads them either.
    """
    header, _ = split_envelope(raw)
    mapping = load_mapping(header, drops_unbounded=True)
    envelope = msgspec.structs.replace(_envelope_of(mapping), redacted=True, extra={})
    _, _, ours = _encode_envelope(envelope).partition("\n")
    names = [name for name in mapping if name not in RESERVED_KEYS]
    marker, *extra = (_spelled(mapping, name) for name in ("neosian_format", *names))
    return b"---\n%s%s%s---\n" % (marker, ours.encode(), b"".join(extra))


def _spelled(mapping: Mapping[Any, Any], name: Any) -> bytes:
    """A key and its value; nothing where there is none, and where it cannot be said."""
    try:
        return dump_mapping({name: mapping[name]}).encode() if name in mapping else b""
    except ValueError:
        return b""


def sendable(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """`extra` as JSON can say it, dates as ISO text and keys as text; RowFaultError if it cannot.

    It is within the limits of docs/reference/stores.md, section 9: `load_mapping` has seen to it.
    """
    return _object(extra) if extra else extra


def _encode_envelope(envelope: Envelope) -> str:
    lines = [
        f"neosian_format: {MEMORY_FORMAT}\n",
        f"version: {envelope.version}\n",
        f"created_at: '{format_timestamp(envelope.created_at)}'\n",
        f"updated_at: '{format_timestamp(envelope.updated_at)}'\n",
    ]
    if envelope.actor is not None:
        is_plain = _PLAIN_ACTOR.fullmatch(envelope.actor) is not None
        lines.append(
            f"actor: {envelope.actor}\n" if is_plain else dump_mapping({"actor": envelope.actor})
        )
    if envelope.redacted:
        lines.append("redacted: true\n")
    if envelope.extra:
        lines.append(dump_mapping(dict(envelope.extra)))
    return "".join(lines)


def _require_format(mapping: Mapping[str, Any]) -> None:
    number = _number(mapping.get("neosian_format"))
    if number < 1:
        raise RowFaultError("missing neosian_format")
    if number != MEMORY_FORMAT:
        raise RowFaultError(f"format {number} is newer than {MEMORY_FORMAT}")


def _envelope_of(mapping: Mapping[str, Any]) -> Envelope:
    version = _number(mapping.get("version"))
    if not 1 <= version <= MAX_NUMBER:
        raise RowFaultError("missing or invalid version")
    actor = mapping.get("actor")
    if actor is not None and not isinstance(actor, str):
        raise RowFaultError("actor must be a string")
    redacted = mapping.get("redacted", False)
    if not isinstance(redacted, bool):
        raise RowFaultError("redacted must be a boolean")
    return Envelope(
        version=version,
        created_at=_stamp(mapping.get("created_at"), "created_at"),
        updated_at=_stamp(mapping.get("updated_at"), "updated_at"),
        actor=actor,
        redacted=redacted,
        extra={name: value for name, value in mapping.items() if name not in RESERVED_KEYS},
    )


def _number(value: Any) -> int:
    """The integer, or 0 for what is none; True is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _stamp(value: Any, name: str) -> datetime:
    """A quoted stamp is a text, an unquoted one what YAML makes of it."""
    fault = f"missing or invalid {name} timestamp"
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise RowFaultError(fault) from None
    else:
        raise RowFaultError(fault)
    if moment.utcoffset() is None:
        raise RowFaultError(f"naive {name} timestamp")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise RowFaultError(fault) from None


def _object(value: Mapping[Any, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for name, item in value.items():
        key = _key(name)
        if key in said:
            raise RowFaultError(f"envelope has the key {key!r} twice")
        said[key] = _value(item)
    return said


def _key(name: Any) -> str:
    """A key that YAML takes for something else than a text, as JSON would say the value."""
    value = _value(name)
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    raise RowFaultError(f"envelope has the key {name!r}, which is no text")


def _value(value: Any) -> Any:
    match value:
        case None | bool():
            return value
        case str():
            return _text(value)
        case int() | float():
            return _in_range(value)
        case datetime() | date():
            return value.isoformat()
        case Mapping():
            return _object(value)
        case list() | tuple():
            return [_value(item) for item in value]
    raise RowFaultError(f"envelope holds a {type(value).__name__} that is no JSON")


def _in_range(value: float) -> float:
    if not -BEYOND_NUMBERS < value < BEYOND_NUMBERS:
        raise RowFaultError("envelope holds a number out of range")
    return value


def _text(value: str) -> str:
    if has_lone_surrogate(value):
        raise RowFaultError("envelope holds a lone surrogate")
    return value
