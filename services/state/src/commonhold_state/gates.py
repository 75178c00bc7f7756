"""The one chain every request passes, in the order of docs/reference/wire.md, section 2.

Token, fence of /mcp, declared size, route, room, body, JSON, allowance, parameters, store.
The same chain answers, counts and logs.
"""

import asyncio
from time import perf_counter

import structlog
from aiohttp import hdrs, web
from structlog.typing import FilteringBoundLogger

from commonhold.contract.errors import (
    CommonholdError,
    ConversationConflictError,
    MemoryConflictError,
    StoreUnavailableError,
)
from commonhold.ops.admission import Admission, Lease
from commonhold.ops.health import Health
from commonhold.ops.metrics import HttpMetrics, Metrics
from commonhold.ops.request_ids import request_id_of
from commonhold.ops.tokens import Client, TokenTable
from commonhold.wire.answers import BODY_LIMIT_BYTES, DIGEST_HEADER, KEY_HEADER
from commonhold_state.allowances import require_allowed
from commonhold_state.backend import Backend
from commonhold_state.bodies import NO_ROOM, TOO_SLOW, BodyReader
from commonhold_state.calls import Call
from commonhold_state.capabilities import capabilities_of
from commonhold_state.connections import Connection
from commonhold_state.errors import (
    BODY_TOO_LARGE,
    MCP_FENCED,
    RejectedError,
    refusal,
)
from commonhold_state.idempotency import guarded_view
from commonhold_state.payloads import decode_payload
from commonhold_state.replies import (
    GET_ONLY,
    NOT_FOUND,
    OK_HEAD,
    POST_ONLY,
    SERVER_ERROR,
    UNAUTHORIZED,
    UNAVAILABLE,
    Reply,
    Sent,
    send,
)
from commonhold_state.routes import CAPABILITIES, HEALTH, LABELS, MCP, TABLE, UNKNOWN, Route
from commonhold_state.shapes import PLAIN, Shape, is_plain, shapes_of

NOT_READY = "not_ready"
FULL = "in_flight"
STORE = "store"
REJECTIONS = (NOT_READY, FULL, NO_ROOM, TOO_SLOW, STORE)

_HEALTHY = Reply(200, OK_HEAD, b'{"status":"ok"}')

logger = structlog.get_logger(__name__)


class Gates:
    """Judges and answers requests; one object a process, called by aiohttp's server."""

    def __init__(
        self,
        *,
        backend: Backend,
        tokens: TokenTable,
        admission: Admission,
        bodies: BodyReader,
        health: Health,
        metrics: Metrics,
        logs_requests: bool = False,
    ) -> None:
        self._backend = backend
        self._tokens = tokens
        self._admission = admission
        self._bodies = bodies
        self._health = health
        self._metrics = metrics
        self._http: HttpMetrics = metrics.http(service="state", routes=LABELS, reasons=REJECTIONS)
        self._http.watch_in_flight(lambda: admission.requests)
        self._capabilities = capabilities_of(backend, tokens.clients)
        self._logs_requests = logs_requests
        self._kept, self._closed = Sent(keep_alive=True), Sent(keep_alive=False)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        started = perf_counter()
        label = self._label(request)
        lease = Lease(self._admission)
        try:
            reply = await self._judge(request, label, lease)
            is_kept = await send(request, reply, closes=self._is_last(request))
        finally:
            lease.release()
        self._http.answered(label, reply.status, started=started)
        if self._logs_requests:
            self._bind(request).debug("request", route=label, status=reply.status)
        return self._kept if is_kept else self._closed

    def _is_last(self, request: web.BaseRequest) -> bool:
        """Whether the service stops with nothing behind this request: a close would drop it."""
        connection = request.protocol
        return self._health.is_draining and not (
            isinstance(connection, Connection) and connection.is_pipelined
        )

    def count_unjudged(self, status: int) -> None:
        """Count what aiohttp answered without the gates: no HTTP, or their failure."""
        self._http.answered(UNKNOWN, status, started=perf_counter())

    async def _judge(self, request: web.BaseRequest, label: str, lease: Lease) -> Reply:
        try:
            return await self._pass_gates(request, label, lease)
        except RejectedError as error:
            if error.reason is not None:
                self._reject(request, label, error.reply, reason=error.reason)
            return error.reply
        except StoreUnavailableError as error:
            self._reject(request, label, UNAVAILABLE, reason=STORE, detail=error.reason)
            return UNAVAILABLE
        except CommonholdError as error:
            if isinstance(error, MemoryConflictError | ConversationConflictError):
                self._metrics.count_conflict(error.reason)
            return refusal(error)
        except Exception as error:  # noqa: BLE001 - the outermost frame of a request
            # A subclass of ValueError comes from a library, not from a rule of ours.
            if type(error) is ValueError:
                return refusal(error)
            self._bind(request).exception("request_failed", route=label, status=SERVER_ERROR.status)
            return SERVER_ERROR

    async def _pass_gates(self, request: web.BaseRequest, label: str, lease: Lease) -> Reply:
        client = None if label is HEALTH else self._identify(request)
        if (request.content_length or 0) > BODY_LIMIT_BYTES:
            raise RejectedError(BODY_TOO_LARGE)
        if client is None or label is CAPABILITIES:
            return self._open(request, client)
        route = TABLE.get(label)
        if route is None:
            raise RejectedError(NOT_FOUND)
        if request.method != hdrs.METH_POST:
            raise RejectedError(POST_ONLY)
        return await self._serve(request, route, client, lease)

    def _identify(self, request: web.BaseRequest) -> Client:
        client = self._tokens.identify(request.headers.get(hdrs.AUTHORIZATION))
        if client is None:
            raise RejectedError(UNAUTHORIZED)
        if client.is_constrained and _is_mcp(request):
            raise RejectedError(MCP_FENCED)
        return client

    def _open(self, request: web.BaseRequest, client: Client | None) -> Reply:
        """The two routes that ask nothing of the store."""
        if request.method not in {hdrs.METH_GET, hdrs.METH_HEAD}:
            return GET_ONLY
        return _HEALTHY if client is None else self._capabilities[client.actor]

    async def _serve(
        self, request: web.BaseRequest, route: Route, client: Client, lease: Lease
    ) -> Reply:
        if not self._health.can_serve:
            raise RejectedError(UNAVAILABLE, reason=NOT_READY)
        if self._admission.is_full:
            raise RejectedError(UNAVAILABLE, reason=FULL)
        raw = await self._bodies.read(request, lease)
        shape = PLAIN if is_plain(raw) else await _look_through(raw)
        # What is made of many values takes more than their bytes. The largest, alone, has room.
        weight = min(len(raw) + shape.weight, self._admission.byte_limit)
        if not (shape.is_refused or lease.cover(weight)):
            raise RejectedError(UNAVAILABLE, reason=NO_ROOM)
        # Senders that take their time hold no place; it is taken once there is work to do.
        if not lease.enter():
            raise RejectedError(UNAVAILABLE, reason=FULL)
        call = self._call(request, route, client, raw, shape)
        # A large body must not stay beside what was made of it.
        del raw
        return Reply(200, OK_HEAD, await route.handle(call))

    def _call(
        self,
        request: web.BaseRequest,
        route: Route,
        client: Client,
        raw: bytes | bytearray,
        shape: Shape,
    ) -> Call:
        payload = decode_payload(raw, shape)
        require_allowed(client, route.target, payload.body)
        if payload.fault is not None:
            raise ValueError(payload.fault)
        guarded = None
        if route.mutates:
            header = request.headers.get(KEY_HEADER)
            if header is not None:
                guarded = guarded_view(
                    self._backend,
                    header=header,
                    client=client,
                    route=route.path,
                    raw=raw,
                    digest=request.headers.get(DIGEST_HEADER),
                )
        return Call(
            payload.body,
            client=client,
            backend=self._backend,
            guarded=guarded,
            has_nul=payload.has_nul,
        )

    def _reject(
        self,
        request: web.BaseRequest,
        label: str,
        reply: Reply,
        *,
        reason: str,
        detail: str | None = None,
    ) -> None:
        self._http.rejected(reason)
        self._bind(request).warning(
            "request_rejected", route=label, status=reply.status, reason=reason, detail=detail
        )

    @staticmethod
    def _bind(request: web.BaseRequest) -> FilteringBoundLogger:
        """A logger with the request's id, which is only made when something is logged."""
        bound: FilteringBoundLogger = logger.bind(
            request_id=request_id_of(request.headers), method=request.method
        )
        return bound

    @staticmethod
    def _label(request: web.BaseRequest) -> str:
        """The route's path as the metrics name it; exact spelling, query string ignored."""
        path = request.raw_path
        if path in TABLE:
            return path
        path = request.path
        if path in TABLE:
            return path
        if path == HEALTH:
            return HEALTH
        return CAPABILITIES if path == CAPABILITIES else UNKNOWN


async def _look_through(raw: bytes | bytearray) -> Shape:
    """The shape of a large body, between whose parts other requests have their turn."""
    shape = PLAIN
    for shape in shapes_of(raw):  # noqa: B007 - the last one counts
        await asyncio.sleep(0)
    return shape


def _is_mcp(request: web.BaseRequest) -> bool:
    return request.path == MCP or request.path.startswith(f"{MCP}/")
