"""Answers as bytes (docs/reference/wire.md, sections 5 to 9).

The records of the contract are declared in the wire's key order, and msgspec writes their
UTC stamps exactly as grammar.md, section 8, spells them, so an answer is one call of one
encoder: compact, UTF-8, non-ASCII raw.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()

encode = _encoder.encode


def encode_refusal(
    code: str, message: str, details: Mapping[str, str | int | None] | None = None
) -> bytes:
    """The envelope of every refusal at 400, 403 or 413 (docs/reference/errors.md, section 1)."""
    error = {"code": code, "message": message, "details": details or {}}
    return encode({"error": error})


class RowBuffer:
    """The rows of a listing as they are encoded, up to a number of bytes.

    At least one row always goes in, so that a listing moves on whatever a row weighs.
    """

    __slots__ = ("_budget", "_bytes", "count", "largest")

    def __init__(self, *, budget: int) -> None:
        self._budget = budget
        self._bytes = bytearray()
        self.count = 0
        self.largest = 0

    @property
    def size(self) -> int:
        return len(self._bytes)

    def extend(self, rows: Sequence[msgspec.Struct]) -> bool:
        """Add rows while they fit; False when one did not."""
        return all(self._add(row) for row in rows)

    def rollback(self, *, count: int, size: int) -> None:
        """Forget what came after an earlier state of the buffer."""
        self.count = count
        del self._bytes[size:]

    def answer(self, name: str, tail: Mapping[str, Any]) -> bytes:
        """The rows under their name, followed by the tail's keys."""
        rest = encode(tail)
        end = b"]" + (b"," + rest[1:] if tail else b"}")
        return b"".join((b'{"', name.encode(), b'":[', self._bytes, end))

    def _add(self, row: msgspec.Struct) -> bool:
        before = len(self._bytes)
        if self.count:
            self._bytes += b","
        _encoder.encode_into(row, self._bytes, -1)
        if self.count and len(self._bytes) > self._budget:
            del self._bytes[before:]
            return False
        self.largest = max(self.largest, len(self._bytes) - before)
        self.count += 1
        return True
