"""Whether a body is one that costs far more to read than to send.

A value of JSON takes two bytes on the way, `[]` and a comma, and some thirty times as much in
memory, for which the event loop stands still. No call has many values: its arguments are a
few, and a long document is one string.
"""

import re

MOST_VALUES = 100_000
# A body up to this size holds so few values that they are not counted.
SMALL_BYTES = 2 * MOST_VALUES

_OPENINGS = (b",", b"[", b"{")
# Possessive, so that a text without an end is gone through once.
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def holds_many_values(body: bytes) -> bool:
    """Whether there are more than `MOST_VALUES`; what is inside of texts is none."""
    if len(body) <= SMALL_BYTES or _count(body) <= MOST_VALUES:
        return False
    return _count(_TEXT.sub(b"", body)) > MOST_VALUES


def _count(body: bytes) -> int:
    return sum(body.count(opening) for opening in _OPENINGS)
