"""How many values a body of JSON holds, told without reading it.

A value takes two bytes on the way, `[]` and a comma, and some thirty times as much in memory,
for which the event loop stands still.
"""

import re

_OPENINGS = (b",", b"[", b"{")
# A text, closed or not: the alternatives cannot backtrack, so this takes linear time.
_TEXTS = re.compile(rb'"(?:[^"\\]++|\\.)*+\\?"?', re.DOTALL)


def without_texts(body: bytes | bytearray) -> bytes:
    """What is left of a body when all its texts are taken out."""
    return _TEXTS.sub(b"", body)


def count_values(body: bytes | bytearray) -> int:
    """The values of a body without texts; with them, no fewer than it holds."""
    return sum(body.count(opening) for opening in _OPENINGS)
