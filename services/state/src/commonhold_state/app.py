"""The composition root: the one module of the service that names a concrete store."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import structlog

from commonhold.adapters.file import FileStore
from commonhold.adapters.file.upkeep import RootWatch
from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.adapters.postgres.upkeep import SchemaWatch, sweep_forever
from commonhold.contract.errors import ConfigurationError
from commonhold.ops.admission import Admission
from commonhold.ops.health import Health
from commonhold.ops.lifecycle import StopSignal, close_later, run_until_stopped
from commonhold.ops.listener import build_ops_app, listen_ops
from commonhold.ops.metrics import Metrics
from commonhold.ops.settings import Secret
from commonhold.ops.tokens import TokenTable
from commonhold_state.backend import OPERATIONS, Backend, StateStore
from commonhold_state.bodies import PACE_GRACE_SECONDS, BodyReader
from commonhold_state.gates import Gates
from commonhold_state.server import WireServer
from commonhold_state.settings import StateSettings

logger = structlog.get_logger(__name__)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one process takes on at a time."""

    requests: int = 512
    body_bytes: int = 268435456
    body_timeout_seconds: float = 30.0
    body_grace_seconds: float = PACE_GRACE_SECONDS


DEFAULT_LIMITS = Limits()


def assemble(
    store: StateStore,
    *,
    tokens: TokenTable,
    health: Health,
    metrics: Metrics,
    limits: Limits = DEFAULT_LIMITS,
    logs_requests: bool = False,
) -> Gates:
    """The service over any store; nothing is opened."""
    return Gates(
        backend=Backend(store, metrics.operations(OPERATIONS)),
        tokens=tokens,
        admission=Admission(request_limit=limits.requests, byte_limit=limits.body_bytes),
        bodies=BodyReader(
            timeout_seconds=limits.body_timeout_seconds, grace_seconds=limits.body_grace_seconds
        ),
        health=health,
        metrics=metrics,
        logs_requests=logs_requests,
    )


def new_metrics(*, revision: str = "unknown") -> Metrics:
    return Metrics(version=version("commonhold-state"), revision=revision)


async def serve(settings: StateSettings) -> None:
    """Run the service until it is told to stop."""
    stop = StopSignal()
    stop.install()
    health = Health()
    metrics = new_metrics(revision=settings.revision)
    async with AsyncExitStack() as stack:
        opened = await _open_store(settings, health, metrics, stack)
        server = WireServer(_build_gates(settings, opened.store, health, metrics))
        ops = await _listen_ops(settings, health, metrics, stack)
        await _listen(server, settings)
        logger.info("listening", address=str(server.address), ops_address=str(ops))
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(run()) for run in opened.upkeep]
            await run_until_stopped(
                server, health=health, stop=stop, drain_seconds=settings.drain_seconds
            )
            for task in running:
                task.cancel()


class _Opened(msgspec.Struct, frozen=True):
    """A store, and what runs beside it for as long as it serves."""

    store: StateStore
    upkeep: Sequence[Callable[[], Coroutine[Any, Any, None]]]


async def _open_store(
    settings: StateSettings, health: Health, metrics: Metrics, stack: AsyncExitStack
) -> _Opened:
    if settings.root is not None:
        return _open_root(settings.root, health, stack)
    if settings.dsn is None:
        raise ConfigurationError("no store is named")
    return await _open_database(settings.dsn, settings, health, metrics, stack)


def _open_root(root: Path, health: Health, stack: AsyncExitStack) -> _Opened:
    store = FileStore(root)
    close_later(stack, "root", store.close, seconds=10.0)
    return _Opened(store, [RootWatch(store, root=root, health=health).run])


async def _open_database(
    dsn: Secret,
    settings: StateSettings,
    health: Health,
    metrics: Metrics,
    stack: AsyncExitStack,
) -> _Opened:
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
    return _Opened(store, [watch.run, partial(sweep_forever, store.sweep_keys)])


def _build_gates(
    settings: StateSettings, store: StateStore, health: Health, metrics: Metrics
) -> Gates:
    return assemble(
        store,
        tokens=TokenTable(settings.tokens, previous=settings.previous_tokens),
        health=health,
        metrics=metrics,
        limits=Limits(
            requests=settings.in_flight_limit,
            body_bytes=settings.in_flight_bytes,
            body_timeout_seconds=settings.body_timeout_seconds,
        ),
        logs_requests=settings.log_level == "debug",
    )


async def _listen_ops(
    settings: StateSettings, health: Health, metrics: Metrics, stack: AsyncExitStack
) -> object:
    try:
        return await listen_ops(build_ops_app(health, metrics), settings.ops_listen, stack=stack)
    except OSError as error:
        raise ConfigurationError(
            f"COMMONHOLD_STATE_OPS_LISTEN: cannot listen on {settings.ops_listen}: {error.strerror}"
        ) from None


async def _listen(server: WireServer, settings: StateSettings) -> None:
    try:
        await server.listen(settings.listen)
    except OSError as error:
        raise ConfigurationError(
            f"COMMONHOLD_STATE_LISTEN: cannot listen on {settings.listen}: {error.strerror}"
        ) from None
