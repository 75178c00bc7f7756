"""The shape of a body, told before it is decoded: how many values, and how deep."""

from itertools import accumulate
from typing import NamedTuple

from commonhold.ops.admission import FREE_BYTES
from commonhold.ops.json_values import count_values, without_texts

MAX_NESTING = 512
# A body of 64 MiB may hold twenty times as many, and would take gigabytes.
MOST_VALUES = 2_000_000
# What one is reckoned to take in memory, beside its bytes.
VALUE_BYTES = 128

# So few weigh nothing beside what they are sent in.
_FEW_VALUES = 10_000
_BRACKETS = b"[]{}"
_NOT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_CHUNK = 256


class Shape(NamedTuple):
    """`values` is 0 for a body that holds few. What holds too many is not looked at further."""

    values: int
    is_too_deep: bool

    @property
    def has_too_many_values(self) -> bool:
        return self.values > MOST_VALUES


_PLAIN = Shape(0, is_too_deep=False)


def shape_of(raw: bytes | bytearray) -> Shape:
    """Linear in size, and alike for every parser."""
    is_deep = raw.count(b"[") + raw.count(b"{") > MAX_NESTING
    has_many = len(raw) > FREE_BYTES and count_values(raw) > _FEW_VALUES
    if not is_deep and not has_many:
        return _PLAIN
    structure = without_texts(raw)
    values = count_values(structure) if has_many else 0
    if values > MOST_VALUES:
        return Shape(values, is_too_deep=False)
    return Shape(values, is_too_deep=_is_too_deep(structure))


def _is_too_deep(structure: bytes) -> bool:
    """Whether brackets nest deeper than the limit."""
    brackets = structure.translate(None, _NOT_BRACKETS)
    depth = 0
    for start in range(0, len(brackets), _CHUNK):
        chunk = brackets[start : start + _CHUNK]
        opened = chunk.count(b"[") + chunk.count(b"{")
        # Only a chunk that could pass the limit is walked bracket by bracket.
        if depth + opened > MAX_NESTING and _deepest(chunk, depth) > MAX_NESTING:
            return True
        depth += 2 * opened - len(chunk)
    return False


def _deepest(chunk: bytes, depth: int) -> int:
    return max(accumulate(map(_STEPS.__getitem__, chunk), initial=depth))
