"""The shape of a body, told before it is decoded: how many values, and how deep."""

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from commonhold.ops.admission import FREE_BYTES
from commonhold.ops.json_values import count_values, outside_texts

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
    """What holds too many values, or nests too deep, is not looked at further."""

    values: int
    is_too_deep: bool

    @property
    def has_many_values(self) -> bool:
        return self.values > _FEW_VALUES

    @property
    def has_too_many_values(self) -> bool:
        return self.values > MOST_VALUES

    @property
    def is_refused(self) -> bool:
        return self.is_too_deep or self.has_too_many_values

    @property
    def weight(self) -> int:
        """The bytes that its values take, beside its own."""
        return VALUE_BYTES * self.values if self.has_many_values else 0


PLAIN = Shape(0, is_too_deep=False)


def is_plain(raw: bytes | bytearray) -> bool:
    """Whether a body is so small that it has the PLAIN shape."""
    return len(raw) <= FREE_BYTES and raw.count(b"[") + raw.count(b"{") <= MAX_NESTING


def shapes_of(raw: bytes | bytearray) -> Iterator[Shape]:
    """The shape of more and more of a body, and at last of all that need be looked at.

    Linear in size, and alike for every parser; each step takes a few milliseconds.
    """
    values = depth = 0
    for structure in outside_texts(raw):
        if len(raw) > FREE_BYTES:
            values += count_values(structure)
        behind = _depth_behind(structure.translate(None, _NOT_BRACKETS), depth)
        shape = Shape(values, is_too_deep=behind is None)
        yield shape
        if behind is None or shape.has_too_many_values:
            return
        depth = behind


def _depth_behind(brackets: bytes, depth: int) -> int | None:
    """How deep it is behind them; None once they nest deeper than the limit."""
    for start in range(0, len(brackets), _CHUNK):
        chunk = brackets[start : start + _CHUNK]
        opened = chunk.count(b"[") + chunk.count(b"{")
        # Only a chunk that could pass the limit is walked bracket by bracket.
        if depth + opened > MAX_NESTING and _deepest(chunk, depth) > MAX_NESTING:
            return None
        depth += 2 * opened - len(chunk)
    return depth


def _deepest(chunk: bytes, depth: int) -> int:
    return max(accumulate(map(_STEPS.__getitem__, chunk), initial=depth))
