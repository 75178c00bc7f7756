"""The chain that every request passes, in the order of docs/reference/mcp.md, section 1.

Credential, reach and names of the request, size, then MCP. The same chain counts and logs.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from time import perf_counter

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonhold.ops.admission import Admission, Lease
from commonhold.ops.health import Health
from commonhold.ops.metrics import HttpMetrics, Metrics
from commonhold.ops.request_ids import request_id_of
from commonhold_gateway.bodies import (
    FULL,
    NO_ROOM,
    TOO_SLOW,
    ClientLeftError,
    GuardedBody,
    RejectedError,
)
from commonhold_gateway.hosts import AllowedNames
from commonhold_gateway.identities import Authenticator, Identity
from commonhold_gateway.replies import (
    CONSTRAINED,
    GET_ONLY,
    HEALTHY,
    MOVED,
    NO_MOUNTS,
    NOT_FOUND,
    POST_ONLY,
    SERVER_ERROR,
    UNAVAILABLE,
    Reply,
    forbidden,
    too_large,
    unauthorized,
)

HEALTH = "/health"
MCP = "/mcp"
PUBLIC = "public"
# The label of requests that meet no route.
UNKNOWN = "unknown"
LABELS = (MCP, HEALTH, PUBLIC, UNKNOWN)

NOT_READY = "not_ready"
REJECTIONS = (NOT_READY, FULL, NO_ROOM, TOO_SLOW)

# Where the chain leaves the caller for who serves the request.
IDENTITY = "commonhold.identity"

CONNECTION = b"connection"
# After an answer that left part of a body unread: how long to read on before closing.
LINGER_SECONDS = 5.0

logger = structlog.get_logger(__name__)


class Gates:
    """The ASGI application of the service; one object a process.

    `surface` serves what has passed, and is None when nothing is mounted for anybody.
    `public` has documents that need no credential, by path. `is_stateful` lets through
    the methods that sessions have beside POST.
    """

    def __init__(
        self,
        *,
        surface: ASGIApp | None,
        authenticator: Authenticator,
        allowed: AllowedNames,
        admission: Admission,
        health: Health,
        metrics: Metrics,
        body_limit_bytes: int,
        body_timeout_seconds: float,
        is_stateful: bool = False,
        public: Mapping[str, Reply] | None = None,
        logs_requests: bool = False,
    ) -> None:
        self._surface = surface
        self._authenticator = authenticator
        self._allowed = allowed
        self._admission = admission
        self._health = health
        self._body_limit = body_limit_bytes
        self._body_timeout = body_timeout_seconds
        self._is_stateful = is_stateful
        self._logs_requests = logs_requests
        self._public = {HEALTH: HEALTHY, **(public or {})}
        self._http: HttpMetrics = metrics.http(service="gateway", routes=LABELS, reasons=REJECTIONS)
        self._http.watch_in_flight(lambda: admission.requests)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"only HTTP is served, not {scope['type']}")
        exchange = Exchange(scope, receive, send, health=self._health)
        started = perf_counter()
        lease = Lease(self._admission)
        structlog.contextvars.bind_contextvars(request_id=request_id_of(exchange.headers))
        try:
            with suppress(ClientLeftError):
                await self._pass(exchange, lease)
        except RejectedError as error:
            if error.reason is not None:
                self._http.rejected(error.reason)
                logger.warning("request_rejected", status=error.reply.status, reason=error.reason)
            await exchange.refuse(error.reply)
        except Exception:
            logger.exception("request_failed")
            await exchange.refuse(SERVER_ERROR)
        finally:
            lease.release()
            label = self._label(exchange)
            self._http.answered(label, exchange.status, started=started)
            if self._logs_requests:
                logger.debug("request", route=label, method=exchange.method, status=exchange.status)

    async def _pass(self, exchange: "Exchange", lease: Lease) -> None:
        document = self._public.get(exchange.path)
        if document is not None:
            return await exchange.answer(document if exchange.is_read else GET_ONLY)
        identity = await self._identify(exchange)
        structlog.contextvars.bind_contextvars(client=identity.client)
        surface = self._route(exchange)
        self._require_reach(identity, exchange)
        self._require_servable(exchange)
        body = GuardedBody(
            exchange.receive,
            lease=lease,
            limit_bytes=self._body_limit,
            timeout_seconds=self._body_timeout,
            takes_place=exchange.method != "GET",
        )
        exchange.scope[IDENTITY] = identity
        return await surface(exchange.scope, body.receive, exchange.send)

    async def _identify(self, exchange: "Exchange") -> Identity:
        authorization = exchange.headers.get("authorization")
        identity = await self._authenticator.identify(authorization)
        if identity is None:
            raise RejectedError(unauthorized(self._authenticator.challenge(authorization)))
        return identity

    def _route(self, exchange: "Exchange") -> ASGIApp:
        if self._surface is None or exchange.path not in {MCP, f"{MCP}/"}:
            raise RejectedError(NOT_FOUND)
        return self._surface

    def _require_reach(self, identity: Identity, exchange: "Exchange") -> None:
        if identity.reach is None:
            raise RejectedError(CONSTRAINED if identity.is_constrained else NO_MOUNTS)
        refused = self._allowed.refusal(
            host=exchange.headers.get("host", ""), origin=exchange.headers.get("origin")
        )
        if refused is not None:
            raise RejectedError(forbidden(refused))

    def _require_servable(self, exchange: "Exchange") -> None:
        if exchange.path != MCP:
            raise RejectedError(MOVED)
        if not self._is_stateful and exchange.method != "POST":
            raise RejectedError(POST_ONLY)
        if exchange.declared_bytes > self._body_limit:
            raise RejectedError(too_large(self._body_limit))
        if not self._health.can_serve:
            raise RejectedError(UNAVAILABLE, reason=NOT_READY)
        if self._admission.is_full:
            raise RejectedError(UNAVAILABLE, reason=FULL)

    def _label(self, exchange: "Exchange") -> str:
        if exchange.path in {MCP, HEALTH}:
            return exchange.path
        return PUBLIC if exchange.path in self._public else UNKNOWN


class Exchange:
    """One request and what has been answered to it so far."""

    __slots__ = (
        "_health",
        "_send",
        "headers",
        "is_answered",
        "method",
        "path",
        "receive",
        "scope",
        "status",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, health: Health) -> None:
        self.scope = scope
        self.receive = receive
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        # Of a header that came twice the first counts, as for the libraries behind this.
        self.headers = {
            name.decode("latin-1"): value.decode("utf-8", "surrogateescape")
            for name, value in reversed(scope["headers"])
        }
        self.status = 499
        self.is_answered = False
        self._send = send
        self._health = health

    @property
    def is_read(self) -> bool:
        return self.method in {"GET", "HEAD"}

    @property
    def declared_bytes(self) -> int:
        length = self.headers.get("content-length", "")
        return int(length) if length.isdecimal() else 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.is_answered = True
            if self._health.is_draining:
                # The connection ends with this answer, and its client should know.
                kept = [line for line in message["headers"] if line[0].lower() != CONNECTION]
                message = {**message, "headers": [*kept, (CONNECTION, b"close")]}
        await self._send(message)

    async def answer(self, reply: Reply) -> None:
        await reply.send(self.send)

    async def refuse(self, reply: Reply) -> None:
        """Answer, unless that has begun, and read on for a while when the answer closes.

        A connection that is closed on unread bytes is reset, and the answer lost with it.
        """
        if self.is_answered:
            return
        if not reply.closes:
            await self.answer(reply)
            return
        await self.send(
            {"type": "http.response.start", "status": reply.status, "headers": reply.headers}
        )
        await self.send({"type": "http.response.body", "body": reply.body, "more_body": True})
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while (await self.receive()).get("more_body"):
                    pass
        await self.send({"type": "http.response.body", "body": b""})
