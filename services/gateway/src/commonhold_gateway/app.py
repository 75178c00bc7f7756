"""The composition root: the one module of the service that names a concrete store."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from importlib.metadata import version
from typing import TypeAlias

import msgspec
import structlog

from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.adapters.postgres.upkeep import SchemaWatch, sweep_forever
from commonhold.adapters.remote import ServiceWatch, open_when_there
from commonhold.contract import MemoryStore
from commonhold.contract.clock import Clock
from commonhold.contract.errors import ConfigurationError
from commonhold.ops.admission import Admission
from commonhold.ops.health import Health
from commonhold.ops.lifecycle import StopSignal, close_later, run_until_stopped
from commonhold.ops.listener import build_ops_app, listen_ops
from commonhold.ops.metrics import Metrics
from commonhold.ops.service_settings import StateService
from commonhold.ops.settings import Secret
from commonhold.ops.tokens import TokenTable
from commonhold_gateway.callers import stores_of
from commonhold_gateway.calls import OUTCOMES, UNKNOWN, ToolCalls, Turnstile
from commonhold_gateway.clients import ClientsFile, read_clients
from commonhold_gateway.gates import Gates
from commonhold_gateway.hosts import LOOPBACK_HOSTS, LOOPBACK_ORIGINS, AllowedNames
from commonhold_gateway.identities import Authenticator, Doors, Reach, TokenDoor
from commonhold_gateway.listening import GatewayServer
from commonhold_gateway.oauth.doors import OAuthDoor
from commonhold_gateway.oauth.issuers import Issuer
from commonhold_gateway.oauth.resources import ProtectedResource
from commonhold_gateway.replies import Reply
from commonhold_gateway.sessions import (
    MOST_SESSIONS,
    MOST_SESSIONS_PER_CLIENT,
    SESSION_IDLE_SECONDS,
)
from commonhold_gateway.settings import BODY_LIMIT_BYTES, STATEFUL, GatewaySettings
from commonhold_gateway.surface import Surface
from commonhold_gateway.tools.table import TOOLS

logger = structlog.get_logger(__name__)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one process takes on at a time."""

    requests: int = 512
    body_bytes: int = 268435456
    body_limit_bytes: int = BODY_LIMIT_BYTES
    body_timeout_seconds: float = 30.0
    call_seconds: float = 30.0
    calls_per_client: int = 32
    sessions: int = MOST_SESSIONS
    sessions_per_client: int = MOST_SESSIONS_PER_CLIENT
    session_idle_seconds: float = SESSION_IDLE_SECONDS


DEFAULT_LIMITS = Limits()
TOOL_LABELS = (*(tool.name for tool in TOOLS), UNKNOWN)
LOOPBACK = AllowedNames(hosts=LOOPBACK_HOSTS, origins=LOOPBACK_ORIGINS)


# What runs for the sake of the store as long as the service does.
Beside: TypeAlias = Callable[[], Coroutine[None, None, None]]


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """The service over any store: the gates, and the surface behind them."""

    gates: Gates
    surface: Surface


def assemble(
    store: MemoryStore | None,
    *,
    authenticator: Authenticator,
    health: Health,
    metrics: Metrics,
    allowed: AllowedNames = LOOPBACK,
    limits: Limits = DEFAULT_LIMITS,
    is_stateful: bool = False,
    mounts_anything: bool = True,
    clock: Clock | None = None,
    public: Mapping[str, Reply] | None = None,
    logs_requests: bool = False,
) -> Gateway:
    """Put the service together; nothing is opened. `public` is served without a credential.

    Without a store yet, `surface.use` takes it before the service becomes ready.
    """
    admission = Admission(request_limit=limits.requests, byte_limit=limits.body_bytes)
    turnstile = Turnstile(
        calls_per_client=limits.calls_per_client, call_seconds=limits.call_seconds
    )
    surface = Surface(
        None if store is None else stores_of(store, clock=clock),
        calls=ToolCalls(turnstile, metrics=metrics.tools(TOOL_LABELS, outcomes=OUTCOMES)),
        turnstile=turnstile,
        body_limit_bytes=limits.body_limit_bytes,
        is_stateful=is_stateful,
        most_sessions=limits.sessions,
        sessions_per_client=limits.sessions_per_client,
        session_idle_seconds=limits.session_idle_seconds,
    )
    gates = Gates(
        surface=surface if mounts_anything else None,
        authenticator=authenticator,
        allowed=allowed,
        admission=admission,
        health=health,
        metrics=metrics,
        body_limit_bytes=limits.body_limit_bytes,
        body_timeout_seconds=limits.body_timeout_seconds,
        is_stateful=is_stateful,
        public=public,
        logs_requests=logs_requests,
    )
    return Gateway(gates=gates, surface=surface)


def new_metrics(*, revision: str = "unknown") -> Metrics:
    return Metrics(version=version("commonhold-gateway"), revision=revision)


def clients_of(settings: GatewaySettings) -> ClientsFile:
    """What each client of the token tables reaches, and the issuers of other clients' tokens.

    The file's word counts; a client of the tables that it does not name gets the default
    mounts, and every conversation with them, unless its token is held to prefixes
    (docs/reference/mcp.md, section 2).
    """
    clients = [entry.client for entry in (*settings.previous_tokens, *settings.tokens)]
    named = ClientsFile()
    if settings.clients is not None:
        named = read_clients(settings.clients, tokens=clients, resource=settings.public_url)
    if settings.mounts is None:
        return named
    default = Reach(mounts=settings.mounts)
    held = {client.actor for client in clients if client.is_constrained}
    free = {client.actor: default for client in clients if client.actor not in held}
    return msgspec.structs.replace(named, reaches={**free, **named.reaches})


async def serve(settings: GatewaySettings) -> None:
    """Run the service until it is told to stop."""
    stop = StopSignal()
    stop.install()
    health = Health()
    metrics = new_metrics(revision=settings.revision)
    clients = clients_of(settings)
    table = TokenTable(settings.tokens, previous=settings.previous_tokens)
    doors: list[Authenticator] = [TokenDoor(table, reaches=clients.reaches)]
    public: Mapping[str, Reply] = {}
    async with AsyncExitStack() as stack:
        if clients.issuers and settings.public_url is not None:
            resource = ProtectedResource(settings.public_url, issuers=clients.issuers)
            doors.append(open_oauth_door(clients.issuers, resource, metrics, stack))
            public = resource.documents
        ops = await _listen_ops(settings, health, metrics, stack)
        gateway = assemble(
            None,
            authenticator=Doors(doors),
            health=health,
            metrics=metrics,
            allowed=AllowedNames(hosts=settings.allowed_hosts, origins=settings.allowed_origins),
            limits=_limits(settings),
            is_stateful=settings.sessions == STATEFUL,
            mounts_anything=settings.clients is not None or settings.mounts is not None,
            public=public,
            logs_requests=settings.log_level == "debug",
        )
        besides = await _open_store(settings, gateway.surface, health, metrics, stack, stop)
        await stack.enter_async_context(gateway.surface.run())
        server = GatewayServer(gateway.gates)
        await _listen(server, settings)
        logger.info("listening", address=str(server.address), ops_address=str(ops))
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(beside()) for beside in besides]
            await run_until_stopped(
                server, health=health, stop=stop, drain_seconds=settings.drain_seconds
            )
            for task in running:
                task.cancel()


def open_oauth_door(
    issuers: Sequence[Issuer],
    resource: ProtectedResource,
    metrics: Metrics,
    stack: AsyncExitStack,
) -> OAuthDoor:
    door = OAuthDoor(issuers, resource=resource)
    close_later(stack, "oauth", door.close)
    door.report_to(metrics)
    return door


async def _open_store(  # noqa: PLR0917 - what a store is opened for and with, none of it alike
    settings: GatewaySettings,
    surface: Surface,
    health: Health,
    metrics: Metrics,
    stack: AsyncExitStack,
    stop: StopSignal,
) -> tuple[Beside, ...]:
    place = settings.place
    if isinstance(place, StateService):
        return (_remote(place, surface, health, metrics, stack, stop),)
    return await _open_postgres(settings, place, surface, health, metrics, stack)


def _remote(  # noqa: PLR0917 - as above
    place: StateService,
    surface: Surface,
    health: Health,
    metrics: Metrics,
    stack: AsyncExitStack,
    stop: StopSignal,
) -> Beside:
    """The store, once its service answers: what it can do says which tools there are."""
    # A service that has never been there is one that is away.
    watches: list[ServiceWatch] = []
    # Registered before what uses the store is: calls that outlast a drain end before it closes.
    opened = AsyncExitStack()
    stack.push_async_exit(opened)
    metrics.watch_service(lambda: any(watch.is_up for watch in watches))

    async def run() -> None:
        store = await open_when_there(place.url, place.token, health=health, stop=stop.requested)
        if store is None:
            return
        close_later(opened, "state_service", store.close)
        surface.use(stores_of(store))
        watches.append(ServiceWatch(store, health=health))
        await watches[0].run()

    return run


async def _open_postgres(  # noqa: PLR0917 - as above
    settings: GatewaySettings,
    dsn: Secret,
    surface: Surface,
    health: Health,
    metrics: Metrics,
    stack: AsyncExitStack,
) -> tuple[Beside, ...]:
    pool = await Pool.open(
        dsn.reveal(),
        size=settings.pool_size,
        wait_seconds=settings.pool_wait_seconds,
        statement_timeout_seconds=settings.statement_timeout_seconds,
        on_wait=metrics.pool_wait.observe,
    )
    close_later(stack, "pool", pool.close, seconds=10.0)
    store = PostgresStore(pool, schema=settings.schema)
    metrics.watch_pool(pool)
    metrics.watch_replays(lambda: store.replays)
    watch = SchemaWatch(store, schema=settings.schema, health=health, metrics=metrics)
    surface.use(stores_of(store))
    return (watch.run, lambda: sweep_forever(store.sweep_keys))


def _limits(settings: GatewaySettings) -> Limits:
    return Limits(
        requests=settings.in_flight_limit,
        body_bytes=settings.in_flight_bytes,
        body_limit_bytes=settings.body_limit_bytes,
        body_timeout_seconds=settings.body_timeout_seconds,
        call_seconds=settings.call_seconds,
        calls_per_client=settings.calls_per_client,
    )


async def _listen_ops(
    settings: GatewaySettings, health: Health, metrics: Metrics, stack: AsyncExitStack
) -> object:
    try:
        return await listen_ops(build_ops_app(health, metrics), settings.ops_listen, stack=stack)
    except OSError as error:
        raise ConfigurationError(
            "COMMONHOLD_GATEWAY_OPS_LISTEN: cannot listen on"
            f" {settings.ops_listen}: {error.strerror}"
        ) from None


async def _listen(server: GatewayServer, settings: GatewaySettings) -> None:
    try:
        await server.listen(settings.listen)
    except OSError as error:
        raise ConfigurationError(
            f"COMMONHOLD_GATEWAY_LISTEN: cannot listen on {settings.listen}: {error.strerror}"
        ) from None
