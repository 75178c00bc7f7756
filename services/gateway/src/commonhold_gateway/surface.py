"""The MCP side: the SDK's server with our handlers, behind the gates.

docs/reference/mcp.md, sections 3 to 6. Handlers take the caller from the request that the
SDK hands them, so that both eras and both kinds of session run the same code.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from typing import Any, TypeAlias

import structlog
from mcp import MCPError, types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from pydantic import ValidationError
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from commonhold.contract.errors import StoreUnavailableError
from commonhold.usecases.envelopes import ToolResult
from commonhold.usecases.failures import STORE_AWAY, CommandError
from commonhold.usecases.instructions import render_instructions
from commonhold.usecases.prompts import PromptText, get_prompt, list_prompts
from commonhold_gateway.callers import Caller, Stores
from commonhold_gateway.calls import IDEMPOTENCY_KEY, ToolCalls, TooManyCallsError, Turnstile
from commonhold_gateway.gates import IDENTITY
from commonhold_gateway.identities import Identity
from commonhold_gateway.sessions import (
    MOST_SESSIONS,
    MOST_SESSIONS_PER_CLIENT,
    SESSION_IDLE_SECONDS,
    SessionManager,
)
from commonhold_gateway.tools.table import tools_of

NAME = "commonhold"
TITLE = "Commonhold"

# Whatever is listed may change with the next write, and is one client's own.
_NEVER_CACHED = CacheHint(ttl_ms=0, scope="private")

# The newer era asks for it; for the older one the SDK leaves it out.
_COMPLETE = {"resultType": "complete"}

# The first message of a client, in either era.
_BEGINNINGS = frozenset({"initialize", "server/discover"})

Context: TypeAlias = ServerRequestContext[Any, Request]


logger = structlog.get_logger(__name__)


class Surface:
    """The protocol, from a request to its answer.

    `run` has to be entered while requests are served. With `is_stateful` clients get
    sessions, each of which belongs to the credential that began it. Without stores yet,
    `use` has to be called before anybody passes the gates.
    """

    def __init__(
        self,
        stores: Stores | None,
        *,
        calls: ToolCalls,
        turnstile: Turnstile,
        body_limit_bytes: int,
        is_stateful: bool = False,
        most_sessions: int = MOST_SESSIONS,
        sessions_per_client: int = MOST_SESSIONS_PER_CLIENT,
        session_idle_seconds: float = SESSION_IDLE_SECONDS,
    ) -> None:
        self._stores = stores
        self._calls = calls
        self._turnstile = turnstile
        self._is_stateful = is_stateful
        self._manager = SessionManager(
            self._build_server(),
            most_per_client=sessions_per_client,
            stateless=not is_stateful,
            max_request_body_size=body_limit_bytes,
            session_idle_timeout=session_idle_seconds,
            max_sessions=most_sessions,
        )

    def use(self, stores: Stores) -> None:
        """What is served from here on; which tools there are depends on it."""
        self._stores = stores

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve while the block runs.

        The SDK's task group lives in a task of its own: it would wrap in a group whatever
        the block raises, and has to be left by the task that entered it.
        """
        entered, left = asyncio.Event(), asyncio.Event()
        holder = asyncio.create_task(self._hold(entered, left))
        await entered.wait()
        try:
            yield
        finally:
            left.set()
            await holder

    async def _hold(self, entered: asyncio.Event, left: asyncio.Event) -> None:
        try:
            async with self._manager.run():
                entered.set()
                await left.wait()
        finally:
            entered.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_stateful:
            scope["user"] = _owner(scope[IDENTITY])
        await self._manager.handle_request(scope, receive, send)

    def _build_server(self) -> Server[Any]:
        server: Server[Any] = Server(
            NAME,
            title=TITLE,
            version=version("commonhold-gateway"),
            get_tool_input_schema=_mirrored_arguments,
            cache_hints={
                "tools/list": _NEVER_CACHED,
                "prompts/list": _NEVER_CACHED,
                "server/discover": _NEVER_CACHED,
            },
        )
        server.add_request_handler("tools/list", types.PaginatedRequestParams, self._list_tools)
        server.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        server.add_request_handler("prompts/list", types.PaginatedRequestParams, self._list_prompts)
        server.add_request_handler("prompts/get", types.GetPromptRequestParams, self._get_prompt)
        # Without the SDK's tracing, which makes a span of every message.
        server.middleware = [self._around]
        return server

    async def _around(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Add the instructions where a client begins, and keep what breaks inside."""
        try:
            result = await call_next(ctx)
            if ctx.method in _BEGINNINGS and isinstance(result, dict):
                return {**result, "instructions": await self._instruct(ctx)}
        except (MCPError, ValidationError):
            raise
        except Exception:
            # The SDK would answer with the text of the error.
            logger.exception("message_failed", method=ctx.method)
            raise MCPError(types.INTERNAL_ERROR, "Internal error") from None
        return result

    async def _instruct(self, context: Context) -> str:
        caller = self._caller(context)
        return await render_instructions(
            caller.memory(), caller.history(), variant=caller.reach.instructions
        )

    async def _list_tools(
        self, context: Context, _params: types.PaginatedRequestParams
    ) -> HandlerResult:
        return {**_COMPLETE, "tools": [tool.shown for tool in tools_of(self._caller(context))]}

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> HandlerResult:
        caller = self._caller(context)
        key = (context.meta or {}).get(IDEMPOTENCY_KEY)
        return _content(await self._calls.run(caller, params.name, params.arguments or {}, key=key))

    async def _list_prompts(
        self, context: Context, _params: types.PaginatedRequestParams
    ) -> HandlerResult:
        caller = self._caller(context)
        with self._bounds(caller):
            async with asyncio.timeout(self._turnstile.call_seconds):
                prompts = await list_prompts(caller.stores.documents, caller.reach.mounts)
        return {
            **_COMPLETE,
            "prompts": [{"name": one.name, "description": one.description} for one in prompts],
        }

    async def _get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> HandlerResult:
        caller = self._caller(context)
        with self._bounds(caller):
            async with asyncio.timeout(self._turnstile.call_seconds):
                prompt = await _find_prompt(caller, params.name)
        message = {"role": "user", "content": {"type": "text", "text": prompt.text}}
        return {**_COMPLETE, "description": prompt.description, "messages": [message]}

    def _caller(self, context: Context) -> Caller:
        if context.request is None:
            raise RuntimeError("a message came without its request")
        identity: Identity = context.request.scope[IDENTITY]
        if identity.reach is None:
            raise RuntimeError("the gates let a client without a reach pass")
        if self._stores is None:
            raise RuntimeError("the gates let a client pass before there is a store")
        return Caller(self._stores, identity, identity.reach)

    @contextmanager
    def _bounds(self, caller: Caller) -> Iterator[None]:
        """The bounds of a tool call, for what is answered by the protocol itself."""
        try:
            with self._turnstile.pass_through(caller.identity.client):
                yield
        except TooManyCallsError as error:
            raise MCPError(types.INTERNAL_ERROR, f"Too many calls at once: {error}") from None
        except TimeoutError:
            raise MCPError(types.INTERNAL_ERROR, "Timed out") from None
        except StoreUnavailableError as error:
            logger.warning("prompts_failed", reason=error.reason)
            raise MCPError(types.INTERNAL_ERROR, STORE_AWAY.capitalize()) from None


async def _find_prompt(caller: Caller, name: str) -> PromptText:
    try:
        return await get_prompt(caller.stores.documents, caller.reach.mounts, name)
    except CommandError as error:
        raise MCPError(types.INVALID_PARAMS, error.message) from None


def _mirrored_arguments(_tool: str) -> None:
    """No tool mirrors an argument in a header; the SDK would look for one in each call."""


def _content(result: ToolResult) -> dict[str, Any]:
    texts = [result.data if result.success else result.error, result.system_reminder]
    return {
        **_COMPLETE,
        "content": [{"type": "text", "text": text} for text in texts if text is not None],
        "isError": not result.success,
    }


def _owner(identity: Identity) -> AuthenticatedUser:
    """The caller as the SDK compares it with the one that began a session."""
    return AuthenticatedUser(AccessToken(token="", client_id=identity.client, scopes=[]))
