"""The least of HTTP that a load generator reads: a status, a length, and that many bytes.

One request is outstanding on a connection, so an answer never shares a packet with the next.
"""

import re

_END = b"\r\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n", re.IGNORECASE)
_STATUS = slice(9, 12)


class ResponseReader:
    """Reads one answer after another from a connection.

    `body` is the last answer's when `keeps_body`; else bodies are counted and dropped. That of
    an answer in chunks is as it came, with their lengths between them.
    """

    __slots__ = ("_body", "_end", "_head", "_missing", "_status", "keeps_body")

    def __init__(self, *, keeps_body: bool = False) -> None:
        self.keeps_body = keeps_body
        self._head = b""
        self._body: list[bytes] = []
        self._missing = 0
        self._status = 0
        # The last bytes of an answer in chunks; None for one with a length.
        self._end: bytes | None = None

    @property
    def body(self) -> bytes:
        return b"".join(self._body)

    def feed(self, data: bytes) -> int | None:
        """The status, once an answer is whole. ValueError for what cannot be counted."""
        if self._missing:
            return self._take(data)
        if self._end is not None:
            return self._take_chunks(data)
        if self._head:
            data = self._head + data
        end = data.find(_END)
        if end < 0:
            self._head = data
            return None
        self._head = b""
        length = _LENGTH.search(data, 0, end + 2)
        self._status = int(data[_STATUS])
        self._body.clear()
        if length is None:
            if not _CHUNKED.search(data, 0, end + 2):
                raise ValueError(f"an answer without a length: {data[:end]!r}")
            self._end = b""
            return self._take_chunks(data[end + len(_END) :])
        self._missing = int(length[1])
        return self._take(data[end + len(_END) :])

    def _take(self, data: bytes) -> int | None:
        self._missing -= len(data)
        if self._missing < 0:
            raise ValueError(f"{-self._missing} bytes more than the answer's length")
        if self.keeps_body:
            self._body.append(data)
        return None if self._missing else self._status

    def _take_chunks(self, data: bytes) -> int | None:
        """Nothing follows the last chunk, since nothing else is outstanding."""
        if self.keeps_body:
            self._body.append(data)
        self._end = ((self._end or b"") + data)[-len(_LAST_CHUNK) :]
        if self._end != _LAST_CHUNK:
            return None
        self._end = None
        return self._status
