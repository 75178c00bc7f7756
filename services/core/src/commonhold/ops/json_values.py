"""How many values a body of JSON holds, told without reading it.

A value takes two bytes on the way, `[]` and a comma, and some thirty times as much in memory,
for which the event loop stands still.
"""

from collections.abc import Iterator

_OPENINGS = (b",", b"[", b"{")
# A few milliseconds' work.
_PART_BYTES = 256 * 1024


def outside_texts(body: bytes | bytearray) -> Iterator[bytes]:
    """What stands between the texts of a body, a part of it at a time."""
    is_inside = 0
    start = 0
    while start < len(body):
        part = bytes(body[start : start + _PART_BYTES])
        start += len(part)
        if b"\\" in part:
            if (len(part) - len(part.rstrip(b"\\"))) % 2:
                # An escape goes with what it escapes.
                part += body[start : start + 1]
                start += 1
            # Pairs first: what is left escapes, and only an escaped quote could end a text.
            part = part.replace(b"\\\\", b"").replace(b'\\"', b"")
        pieces = part.split(b'"')
        yield b"".join(pieces[is_inside::2])
        is_inside = (is_inside + len(pieces) - 1) % 2


def count_values(structure: bytes | bytearray) -> int:
    """The values in what stands outside of texts; of a whole body, no fewer than it holds."""
    return sum(structure.count(opening) for opening in _OPENINGS)
