"""Answers as bytes: heads made once, one write for a small answer, slices for a large one."""

import asyncio
from time import time
from wsgiref.handlers import format_date_time

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.abc import AbstractStreamWriter

SLICE_BYTES = 1 << 20
# A client that takes less than a slice in this time is not reading: it must not hold memory.
STALLED_SECONDS = 30.0

JSON = b"content-type: application/json\r\n"
TEXT = b"content-type: text/plain; charset=utf-8\r\n"


class Reply:
    """One answer: status, the header lines that are its own, and the body."""

    __slots__ = ("body", "closes", "head", "status")

    def __init__(self, status: int, head: bytes, body: bytes, *, closes: bool = False) -> None:
        self.status = status
        self.head = head
        self.body = body
        self.closes = closes


def head_of(status: int, reason: str, lines: bytes = JSON) -> bytes:
    """Status line and own header lines, to be made once."""
    return f"HTTP/1.1 {status} {reason}\r\n".encode() + lines


def plain(status: int, reason: str, *, lines: bytes = b"", closes: bool = False) -> Reply:
    """A reply whose text is its reason."""
    return Reply(status, head_of(status, reason, lines + TEXT), reason.encode(), closes=closes)


OK_HEAD = head_of(200, "OK")
REFUSAL_HEADS = {
    400: head_of(400, "Bad Request"),
    403: head_of(403, "Forbidden"),
    413: head_of(413, "Request Entity Too Large"),
}

UNAUTHORIZED = Reply(
    401, head_of(401, "Unauthorized", b"www-authenticate: Bearer\r\n"), b"unauthorized"
)
NOT_FOUND = plain(404, "Not Found")
POST_ONLY = plain(405, "Method Not Allowed", lines=b"allow: POST\r\n")
GET_ONLY = plain(405, "Method Not Allowed", lines=b"allow: HEAD, GET\r\n")
BAD_REQUEST = plain(400, "Bad Request", closes=True)
REQUEST_TIMEOUT = plain(408, "Request Timeout", closes=True)
SERVER_ERROR = plain(500, "Internal Server Error")
UNAVAILABLE = plain(503, "Service Unavailable", lines=b"retry-after: 1\r\n")
# For the log and the metrics: the client left, and nobody reads this.
CLIENT_GONE = plain(499, "Client Closed Request", closes=True)


class Sent(web.StreamResponse):
    """Tells aiohttp that the answer is out already and whether to keep the connection."""

    def __init__(self, *, keep_alive: bool) -> None:
        super().__init__()
        self._keep_alive = keep_alive

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:  # noqa: ARG002 - aiohttp's signature
        return None

    async def write_eof(self, data: bytes = b"") -> None:  # noqa: ARG002 - aiohttp's signature
        return None


async def send(request: web.BaseRequest, reply: Reply, *, closes: bool = False) -> bool:
    """Write the reply; whether the connection may serve another request.

    A client that is gone or that does not read ends its connection and nothing else.
    """
    keeps = (
        not (closes or reply.closes)
        and request.keep_alive
        and not _may_trail(request)
        and not _asks_to_upgrade(request)
    )
    transport = request.transport
    if transport is None or transport.is_closing():
        return False
    body = b"" if request.method == "HEAD" else reply.body
    head = b"".join(
        (
            reply.head,
            b"content-length: %d\r\n" % len(reply.body),
            _date_line(),
            _connection_line(request, keeps=keeps),
            b"\r\n",
        )
    )
    if len(body) <= SLICE_BYTES:
        transport.write(head + body)
    else:
        transport.write(head)
        if not await _send_slices(request, transport, body):
            return False
    if request.protocol.writing_paused:
        return await _drain(request, transport) and keeps
    return keeps


async def _send_slices(request: web.BaseRequest, transport: asyncio.Transport, body: bytes) -> bool:
    view = memoryview(body)
    for start in range(0, len(view), SLICE_BYTES):
        transport.write(view[start : start + SLICE_BYTES])
        if request.protocol.writing_paused and not await _drain(request, transport):
            return False
        if transport.is_closing():
            return False
    return True


async def _drain(request: web.BaseRequest, transport: asyncio.Transport) -> bool:
    try:
        async with asyncio.timeout(STALLED_SECONDS):
            await request.writer.drain()
    except TimeoutError:
        transport.abort()
        return False
    except ConnectionError:
        return False
    return True


def _may_trail(request: web.BaseRequest) -> bool:
    """Whether fields may follow the body.

    aiohttp's parser takes the last of them for the first header of the next request, which
    could then pass for another client's.
    """
    return hdrs.TRANSFER_ENCODING in request.headers


def _asks_to_upgrade(request: web.BaseRequest) -> bool:
    """Whether another protocol is asked for, which is answered in this one.

    aiohttp's parser drops what came in one packet behind such a request, and who waits for
    the answer to that would wait for ever.
    """
    return hdrs.UPGRADE in request.headers


def _connection_line(request: web.BaseRequest, *, keeps: bool) -> bytes:
    if not keeps:
        return b"connection: close\r\n"
    return b"" if request.version == HttpVersion11 else b"connection: keep-alive\r\n"


class _DateLine:
    """The `date` header, rendered once a second."""

    __slots__ = ("line", "second")

    def __init__(self) -> None:
        self.second = 0
        self.line = b""


_date = _DateLine()


def _date_line() -> bytes:
    now = int(time())
    if now != _date.second:
        _date.line = f"date: {format_date_time(now)}\r\n".encode()
        _date.second = now
    return _date.line
