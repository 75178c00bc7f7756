"""From bytes to a JSON object (docs/reference/wire.md, section 4).

The fast path is msgspec. What it refuses is looked at again, slowly, to tell what is not
JSON at all from JSON that carries something no store can hold: the latter is refused by
the parameter's name, and only after the allowance was applied.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NoReturn

import msgspec

from commonhold.contract.text import has_lone_surrogate

MAX_NESTING = 512
NOT_JSON = "request body must be JSON"
NOT_AN_OBJECT = "request body must be an object"

_BOM = b"\xef\xbb\xbf"
_NUL = b"\\u0000"
# A string, closed or not: the alternatives cannot backtrack, so this takes linear time.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+\\?"?', re.DOTALL)
_BRACKETS = b"[]{}"
_NOT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_CHUNK = 256

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


def decode_payload(raw: bytes | bytearray) -> Payload:
    """Raise ValueError when the bytes are not a JSON object."""
    if raw[:3] == _BOM:
        raw = raw[3:]
    if is_too_deep(raw):
        raise ValueError(NOT_JSON)
    try:
        value = _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _decode_slowly(raw)
    if type(value) is not dict:
        raise ValueError(NOT_AN_OBJECT)
    return Payload(value, has_nul=_NUL in raw)


def is_too_deep(raw: bytes | bytearray) -> bool:
    """Whether brackets nest deeper than the limit, alike for every parser; linear in size."""
    if raw.count(b"[") + raw.count(b"{") <= MAX_NESTING:
        return False
    brackets = _STRINGS.sub(b"", raw).translate(None, _NOT_BRACKETS)
    depth = 0
    for start in range(0, len(brackets), _CHUNK):
        chunk = brackets[start : start + _CHUNK]
        opened = chunk.count(b"[") + chunk.count(b"{")
        # Only a chunk that could pass the limit is walked bracket by bracket.
        if depth + opened > MAX_NESTING and _deepest(chunk, depth) > MAX_NESTING:
            return True
        depth += 2 * opened - len(chunk)
    return False


def _deepest(chunk: bytes | bytearray, depth: int) -> int:
    return max(accumulate(map(_STEPS.__getitem__, chunk), initial=depth))


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
