"""Passing a body on as it arrives: its size counted, its pace watched, its bytes accounted for."""

import asyncio

from starlette.types import Message, Receive

from commonhold.ops.admission import Lease
from commonhold_gateway.replies import (
    REQUEST_TIMEOUT,
    UNAVAILABLE,
    Reply,
    too_large,
    too_many_values,
)
from commonhold_gateway.structures import MOST_VALUES, holds_many_values

LEAST_BYTES_PER_SECOND = 1024
# A body of a few bytes may come in two packets: below this age its pace is not judged.
PACE_GRACE_SECONDS = 5.0

TOO_SLOW = "body_timeout"
NO_ROOM = "in_flight_bytes"
FULL = "in_flight"


class RejectedError(Exception):
    """A request that is not judged by its content: `reply` is the answer.

    `reason` is what the metrics and the log call it; None when it is nobody's concern but
    the client's.
    """

    def __init__(self, reply: Reply, *, reason: str | None = None) -> None:
        super().__init__(reason)
        self.reply = reply
        self.reason = reason


class ClientLeftError(Exception):
    """The client went away before its body was whole: there is nobody to answer."""


class GuardedBody:
    """The `receive` of one request.

    It raises RejectedError for a body that is too large, too slow, finds no room or holds
    too many values, and ClientLeftError for one that ends early. With its last byte the
    request takes its place among those in flight: slow senders hold none.
    A request for a stream takes none either, since it would keep it.
    """

    __slots__ = (
        "_deadline",
        "_is_whole",
        "_lease",
        "_limit",
        "_loop",
        "_pieces",
        "_receive",
        "_size",
        "_started",
        "_takes_place",
        "_timeout",
    )

    def __init__(
        self,
        receive: Receive,
        *,
        lease: Lease,
        limit_bytes: int,
        timeout_seconds: float,
        takes_place: bool = True,
    ) -> None:
        self._receive = receive
        self._lease = lease
        self._limit = limit_bytes
        self._timeout = timeout_seconds
        self._takes_place = takes_place
        self._size = 0
        self._pieces: list[bytes] = []
        self._is_whole = False
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._deadline = self._started + self._patience()

    async def receive(self) -> Message:
        if self._is_whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise RejectedError(REQUEST_TIMEOUT, reason=TOO_SLOW) from None
        if message["type"] != "http.request":
            raise ClientLeftError
        self._count(message.get("body", b""), is_last=not message.get("more_body"))
        return message

    def _count(self, piece: bytes, *, is_last: bool) -> None:
        self._size += len(piece)
        self._pieces.append(piece)
        if self._size > self._limit:
            raise RejectedError(too_large(self._limit))
        if not self._lease.cover(self._size):
            raise RejectedError(UNAVAILABLE, reason=NO_ROOM)
        self._deadline = self._started + self._patience()
        if is_last:
            self._is_whole = True
            self._require_few_values()
            if self._takes_place and not self._lease.enter():
                raise RejectedError(UNAVAILABLE, reason=FULL)

    def _require_few_values(self) -> None:
        pieces, self._pieces = self._pieces, []
        if holds_many_values(pieces[0] if len(pieces) == 1 else b"".join(pieces)):
            raise RejectedError(too_many_values(MOST_VALUES))

    def _patience(self) -> float:
        """Seconds after which a body that has brought this much is too slow."""
        paced = max(PACE_GRACE_SECONDS, self._size / LEAST_BYTES_PER_SECOND)
        return min(self._timeout, paced)
