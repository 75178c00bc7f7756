"""From bytes to a JSON object (docs/reference/wire.md, section 4).

The fast path is msgspec. What it refuses is looked at again, slowly, to tell what is not
JSON at all from JSON that carries something no store can hold: the latter is refused by
the parameter's name, and only after the allowance was applied.
"""

import gc
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import msgspec

from commonhold.contract.text import has_lone_surrogate
from commonhold_state.shapes import MOST_VALUES, Shape

NOT_JSON = "request body must be JSON"
NOT_AN_OBJECT = "request body must be an object"
TOO_MANY_VALUES = f"request body holds more than {MOST_VALUES} values"

_BOM = b"\xef\xbb\xbf"
_NUL = b"\\u0000"

_decode = msgspec.json.Decoder().decode


class OutOfRange:
    """Stands for a number that JSON can spell and no store can hold."""


_OUT_OF_RANGE = OutOfRange()


class Payload:
    """A body's object. `fault` is what to refuse it for once the caller may hear of it."""

    __slots__ = ("body", "fault", "has_nul")

    def __init__(
        self, body: Mapping[str, Any], *, has_nul: bool = False, fault: str | None = None
    ) -> None:
        self.body = body
        self.has_nul = has_nul
        self.fault = fault


def decode_payload(raw: bytes | bytearray, shape: Shape) -> Payload:
    """Raise ValueError when the bytes are not a JSON object, or one of too many values."""
    if raw[:3] == _BOM:
        raw = raw[3:]
    if shape.has_too_many_values:
        raise ValueError(TOO_MANY_VALUES)
    if shape.is_too_deep:
        raise ValueError(NOT_JSON)
    try:
        if shape.has_many_values:
            with _no_collection():
                value = _decode(raw)
        else:
            value = _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _decode_slowly(raw)
    if type(value) is not dict:
        raise ValueError(NOT_AN_OBJECT)
    return Payload(value, has_nul=_NUL in raw)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without the collector of cycles: JSON has none, and it would walk all that is made so far.

    Again and again, which takes several times as long as to decode a large body.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _decode_slowly(raw: bytes | bytearray) -> Payload:
    try:
        value = json.loads(
            raw.decode("utf-8"),
            parse_float=_parse_float,
            parse_int=_parse_int,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError):
        raise ValueError(NOT_JSON) from None
    if type(value) is not dict:
        raise ValueError(NOT_AN_OBJECT)
    return Payload(value, has_nul=_NUL in raw, fault=_fault_of(value))


def _parse_float(text: str) -> float | OutOfRange:
    value = float(text)
    return value if math.isfinite(value) else _OUT_OF_RANGE


def _parse_int(text: str) -> int | OutOfRange:
    try:
        return int(text)
    except ValueError:
        # Python refuses integers of more than 4300 digits.
        return _OUT_OF_RANGE


def _refuse_constant(_text: str) -> NoReturn:
    raise ValueError(NOT_JSON)


def _fault_of(body: Mapping[str, Any]) -> str | None:
    for name, value in body.items():
        for item in (name, *_leaves(value)):
            if isinstance(item, OutOfRange):
                return f"parameter {name!r} holds a number out of range"
            if isinstance(item, str) and has_lone_surrogate(item):
                return f"parameter {name!r} must not contain a lone surrogate"
    return None


def _leaves(root: Any) -> Iterator[Any]:
    pending = [root]
    while pending:
        value = pending.pop()
        if isinstance(value, Mapping):
            pending.extend(value.values())
            yield from value
        elif isinstance(value, Sequence) and not isinstance(value, str):
            pending.extend(value)
        else:
            yield value
