"""The least of HTTP that a load generator reads: a status, a length, and that many bytes.

One request is outstanding on a connection, so an answer never shares a packet with the next.
"""

import re

_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n", re.IGNORECASE)
_STATUS = slice(9, 12)


class ResponseReader:
    """Reads one answer after another from a connection.

    `body` is the last answer's when `keeps_body`; else bodies are counted and dropped.
    """

    __slots__ = ("_body", "_head", "_missing", "_status", "keeps_body")

    def __init__(self, *, keeps_body: bool = False) -> None:
        self.keeps_body = keeps_body
        self._head = b""
        self._body: list[bytes] = []
        self._missing = 0
        self._status = 0

    @property
    def body(self) -> bytes:
        return b"".join(self._body)

    def feed(self, data: bytes) -> int | None:
        """The status, once an answer is whole. ValueError for what cannot be counted."""
        if self._missing:
            return self._take(data)
        if self._head:
            data = self._head + data
        end = data.find(_END)
        if end < 0:
            self._head = data
            return None
        self._head = b""
        length = _LENGTH.search(data, 0, end + 2)
        if length is None:
            raise ValueError(f"an answer without a length: {data[:end]!r}")
        self._status = int(data[_STATUS])
        self._missing = int(length[1])
        self._body.clear()
        return self._take(data[end + len(_END) :])

    def _take(self, data: bytes) -> int | None:
        self._missing -= len(data)
        if self._missing < 0:
            raise ValueError(f"{-self._missing} bytes more than the answer's length")
        if self.keeps_body:
            self._body.append(data)
        return None if self._missing else self._status
