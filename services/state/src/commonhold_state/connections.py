"""One client's connection: aiohttp's, with bounds on what a slow client can hold.

It has `head_seconds` for the head of a request once its first byte is here, and `IDLE_SECONDS`
between requests.
"""

import asyncio
from collections.abc import Callable

import structlog
from aiohttp import hdrs, web

IDLE_SECONDS = 75.0
# After an answer that left part of a body unread: how long to read on before closing.
LINGER_SECONDS = 5.0
READ_BUFFER_BYTES = 64 * 1024
SERVER_FAULT = 500
# Else aiohttp names its own, and Python's; the answers of the gates name nothing.
_NO_VERSIONS = {hdrs.SERVER: "commonhold"}

logger = structlog.get_logger(__name__)


class Connection(web.RequestHandler):
    """One client connection, cut when a request's head does not arrive in time."""

    __slots__ = ("_head_seconds", "_head_timer", "_on_unjudged")

    def __init__(
        self, server: web.Server, *, head_seconds: float, on_unjudged: Callable[[int], None]
    ) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=LINGER_SECONDS,
            read_bufsize=READ_BUFFER_BYTES,
            auto_decompress=False,
            access_log=None,  # type: ignore[arg-type]  # aiohttp tests it and logs nothing
        )
        self._head_seconds = head_seconds
        self._head_timer: asyncio.TimerHandle | None = None
        self._on_unjudged = on_unjudged

    @property
    def is_idle(self) -> bool:
        """Whether no request is running or waiting its turn."""
        return self._waiter is not None and not self._messages

    @property
    def awaits_request(self) -> bool:
        """Whether it is idle, with no byte of a request here yet."""
        return self.is_idle and self._head_timer is None

    @property
    def is_pipelined(self) -> bool:
        """Whether requests stand behind the one that is running."""
        return bool(self._messages)

    @property
    def has_answered(self) -> bool:
        """Whether nobody waits for an answer here: idle, or reading on what was refused."""
        return not self._request_in_progress and not self._messages

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.is_idle:
            self._stop_timer()
        elif data and self._head_timer is None:
            self._head_timer = self._loop.call_later(self._head_seconds, self.force_close)

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 - aiohttp's signature
        # aiohttp calls this after every read of a body and parses an empty buffer each time,
        # a twentieth of a small request, though only a paused connection has more to parse.
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,  # noqa: ARG002 - aiohttp's signature
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - aiohttp's signature
    ) -> web.StreamResponse:
        """Answer what never reached the gates, or what they failed to answer.

        What is no HTTP may hold a token: it is neither shown nor logged.
        """
        is_ours = status >= SERVER_FAULT
        self._on_unjudged(status if is_ours else 400)
        if not is_ours:
            answer = web.Response(status=400, text="Bad Request", headers=_NO_VERSIONS)
        else:
            logger.error("gates_failed", exc_info=exc)
            answer = web.Response(status=500, text="Internal Server Error", headers=_NO_VERSIONS)
        answer.force_close()
        return answer

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
