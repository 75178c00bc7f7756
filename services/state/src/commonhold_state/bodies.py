"""Reading a body: its size counted, its pace watched, its bytes accounted for."""

import asyncio

from aiohttp import StreamReader, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from commonhold.ops.admission import Lease
from commonhold.wire.answers import BODY_LIMIT_BYTES
from commonhold_state.errors import BODY_TOO_LARGE, RejectedError
from commonhold_state.replies import BAD_REQUEST, CLIENT_GONE, REQUEST_TIMEOUT, UNAVAILABLE

LEAST_BYTES_PER_SECOND = 1024
# A body of a few bytes may come in two packets: below this age its pace is not judged.
PACE_GRACE_SECONDS = 5.0

TOO_SLOW = "body_timeout"
NO_ROOM = "in_flight_bytes"

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class BodyReader:
    """Reads whole bodies. `timeout_seconds` bounds one body, from its head to its end."""

    __slots__ = ("_grace_seconds", "_timeout_seconds")

    def __init__(
        self, *, timeout_seconds: float, grace_seconds: float = PACE_GRACE_SECONDS
    ) -> None:
        self._timeout_seconds = timeout_seconds
        self._grace_seconds = grace_seconds

    async def read(self, request: web.BaseRequest, lease: Lease) -> bytes | bytearray:
        """The body, which the lease covers.

        Raises RejectedError when it is too large, too slow, broken, or finds no room.
        """
        content = request.content
        if content.is_eof() and content.exception() is None:
            body = content.read_nowait(-1)
            _require_room(lease, len(body))
            return body
        _require_room(lease, request.content_length or 0)
        _invite(request)
        try:
            return await self._collect(content, lease)
        except TimeoutError:
            raise RejectedError(REQUEST_TIMEOUT, reason=TOO_SLOW) from None
        except ConnectionError:
            raise RejectedError(CLIENT_GONE) from None
        except (web.RequestPayloadError, HttpProcessingError):
            raise RejectedError(BAD_REQUEST) from None

    async def _collect(self, content: StreamReader, lease: Lease) -> bytearray:
        # Grown in place: pieces that are joined in the end would be there twice.
        body = bytearray()
        started = asyncio.get_running_loop().time()
        async with asyncio.timeout_at(started + self._patience(0)) as deadline:
            while piece := await content.readany():
                size = len(body) + len(piece)
                if size > BODY_LIMIT_BYTES:
                    raise RejectedError(BODY_TOO_LARGE)
                _require_room(lease, size)
                body += piece
                deadline.reschedule(started + self._patience(size))
        return body

    def _patience(self, size: int) -> float:
        """Seconds after which a body that has brought `size` bytes is too slow."""
        paced = max(self._grace_seconds, size / LEAST_BYTES_PER_SECOND)
        return min(self._timeout_seconds, paced)


def _require_room(lease: Lease, size: int) -> None:
    if not lease.cover(size):
        raise RejectedError(UNAVAILABLE, reason=NO_ROOM)


def _invite(request: web.BaseRequest) -> None:
    if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue":
        transport = request.transport
        if transport is not None and not transport.is_closing():
            transport.write(_CONTINUE)
