"""The composition root: the one module of the worker that names concrete adapters."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from importlib.metadata import version

import msgspec
import structlog

from commonhold.adapters.in_memory.cache import InMemoryCache
from commonhold.adapters.in_memory.claims import InMemoryClaims
from commonhold.adapters.openai import ModelSettings, open_provider
from commonhold.adapters.postgres import Pool, PostgresCache, PostgresStore
from commonhold.adapters.postgres.gardens import PostgresGardenLedger
from commonhold.adapters.postgres.upkeep import SchemaWatch, sweep_forever
from commonhold.adapters.remote import (
    RemoteStore,
    ServiceWatch,
    UnexpectedAnswerError,
    open_remote_store,
    open_when_there,
)
from commonhold.adapters.resilience import NO_RETRIES, CircuitBreaker, RateLimiter
from commonhold.adapters.resilience.language_models import ResilientLlmProvider
from commonhold.contract.caches import Cache
from commonhold.contract.clock import Clock, SystemClock
from commonhold.contract.errors import ConfigurationError, StoreUnavailableError
from commonhold.contract.gardens import GardenLedger
from commonhold.contract.language_models import LlmProvider
from commonhold.migrations import explain, is_compatible
from commonhold.ops.health import Health
from commonhold.ops.lifecycle import StopSignal, close_later, tell_unfinished
from commonhold.ops.listener import build_ops_app, listen_ops
from commonhold.ops.metrics import Metrics, UpkeepMetrics
from commonhold.ops.service_settings import StateService
from commonhold.ops.settings import Secret, read_settings
from commonhold.usecases.upkeep.passes import ModelStage
from commonhold.usecases.upkeep.reports import REFUSED, SKIP_LABELS
from commonhold.usecases.upkeep.semantic import SemanticStage
from commonhold_maintenance.alone import LoneWorker, NoFence, OwnLedger
from commonhold_maintenance.fenced_stores import WorkedStore
from commonhold_maintenance.gardens import GardensFile, only_planned, read_gardens
from commonhold_maintenance.passes import Limits, PassRunner
from commonhold_maintenance.queues import JobQueue
from commonhold_maintenance.settings import MaintenanceSettings
from commonhold_maintenance.single_runs import Once
from commonhold_maintenance.tasks import ACTIONS, GardenTask, RetentionTask, Task
from commonhold_maintenance.workers import Worker

SYSTEM_CLOCK = SystemClock()
SKIPS = (*SKIP_LABELS.values(), REFUSED)
_HAND_BACK_SECONDS = 5.0

logger = structlog.get_logger(__name__)


class Gardening(msgspec.Struct, frozen=True, kw_only=True):
    """What the worker is there for: the file's word, and the model that its gardens ask."""

    file: GardensFile
    model: ModelSettings


def read_gardening(
    settings: MaintenanceSettings, environ: Mapping[str, str], *, dry_run: bool = False
) -> Gardening:
    """Read the file and the model's settings; ConfigurationError for a mistake in either."""
    file = read_gardens(settings.gardens)
    model = read_settings(ModelSettings, environ)
    asking = [one.name for one in file.gardens if one.asks_model]
    if asking and model.url is None:
        raise ConfigurationError(
            f"COMMONHOLD_MODEL_URL must be set: garden {asking[0]!r} asks a model"
        )
    return Gardening(file=only_planned(file) if dry_run else file, model=model)


def assemble(
    store: WorkedStore,
    file: GardensFile,
    *,
    model: LlmProvider | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> tuple[Task, ...]:
    """The tasks over any store; nothing is opened."""
    semantic: ModelStage | None = None if model is None else SemanticStage(model)
    tasks: list[Task] = [
        GardenTask(scheduled, store=store, semantic=semantic, clock=clock)
        for scheduled in file.gardens
    ]
    if file.retention is not None:
        tasks.append(RetentionTask(file.retention, holds=file.holds, store=store, clock=clock))
    return tuple(tasks)


def new_metrics(*, revision: str = "unknown") -> Metrics:
    return Metrics(version=version("commonhold-maintenance"), revision=revision)


async def serve(settings: MaintenanceSettings, gardening: Gardening) -> None:
    """Run the worker until it is told to stop."""
    stop = StopSignal()
    stop.install()
    place = settings.place
    if isinstance(place, StateService):
        await _serve_alone(place, settings, gardening, stop)
    else:
        await _serve_with_others(place, settings, gardening, stop)


async def _serve_with_others(
    dsn: Secret, settings: MaintenanceSettings, gardening: Gardening, stop: StopSignal
) -> None:
    """One of as many workers as there are on the database."""
    health = Health()
    metrics = new_metrics(revision=settings.revision)
    async with AsyncExitStack() as stack:
        pool, store = await _open_store(dsn, settings, metrics, stack)
        cache = PostgresCache(pool, schema=settings.schema)
        model = _open_model(gardening.model, settings, cache, stack)
        tasks = assemble(store, gardening.file, model=model)
        limits = _limits(settings)
        worker = Worker(
            tasks,
            runner=PassRunner(store, limits=limits, stop=stop.requested),
            queue=JobQueue(pool, schema=settings.schema, lease_seconds=limits.lease_seconds),
            ledger=_ledger(pool, store, settings),
            health=health,
            metrics=metrics.upkeep(gardens=_names(tasks), actions=ACTIONS, skips=SKIPS),
            clock=SYSTEM_CLOCK,
            limits=limits,
            holder=_holder(),
        )
        ops = await _listen_ops(settings, health, metrics, stack)
        logger.info("listening", ops_address=str(ops), gardens=_names(tasks))
        async with asyncio.TaskGroup() as running:
            watch = SchemaWatch(store, schema=settings.schema, health=health, metrics=metrics)
            beside = [
                running.create_task(watch.run()),
                # The one service that is there for what nobody waits for.
                running.create_task(sweep_forever(cache.sweep)),
            ]
            working = running.create_task(
                worker.run(stop.requested, poll_seconds=settings.poll_seconds)
            )
            await _drain(working, health=health, stop=stop, drain_seconds=settings.drain_seconds)
            for task in beside:
                task.cancel()


async def _serve_alone(
    place: StateService, settings: MaintenanceSettings, gardening: Gardening, stop: StopSignal
) -> None:
    """The one worker over a state service."""
    _require_no_ages(gardening.file)
    health = Health()
    metrics = new_metrics(revision=settings.revision)
    async with AsyncExitStack() as stack:
        ops = await _listen_ops(settings, health, metrics, stack)
        # A service that has never been there is one that is away.
        watches: list[ServiceWatch] = []
        metrics.watch_service(lambda: any(watch.is_up for watch in watches))
        store = await open_when_there(place.url, place.token, health=health, stop=stop.requested)
        if store is None:
            return
        close_later(stack, "state_service", store.close)
        watch = ServiceWatch(store, health=health)
        watches.append(watch)
        model = _open_model(gardening.model, settings, InMemoryCache(), stack)
        tasks = assemble(store, gardening.file, model=model)
        ledger = OwnLedger()
        upkeep = metrics.upkeep(gardens=_names(tasks), actions=ACTIONS, skips=SKIPS)
        worker = LoneWorker(
            tasks,
            once=_once_alone(store, settings, ledger, upkeep, stop),
            ledger=ledger,
            health=health,
            metrics=upkeep,
            clock=SYSTEM_CLOCK,
        )
        logger.info("listening", ops_address=str(ops), gardens=_names(tasks))
        async with asyncio.TaskGroup() as running:
            watching = running.create_task(watch.run())
            working = running.create_task(
                worker.run(stop.requested, poll_seconds=settings.poll_seconds)
            )
            await _drain(working, health=health, stop=stop, drain_seconds=settings.drain_seconds)
            watching.cancel()


def _names(tasks: Sequence[Task]) -> list[str]:
    return [task.name for task in tasks]


async def run_once(settings: MaintenanceSettings, gardening: Gardening) -> int:
    """Every pass once, now and in order; 1 when one of them failed or was not whole."""
    stop = StopSignal()
    stop.install()
    metrics = new_metrics(revision=settings.revision)
    async with AsyncExitStack() as stack:
        try:
            store, cache, once = await _open_once(settings, gardening, metrics, stack, stop)
            model = _open_model(gardening.model, settings, cache, stack)
            whole = True
            for task in assemble(store, gardening.file, model=model):
                if stop.requested.is_set():
                    return 1
                whole = await once.run(task) and whole
        except StoreUnavailableError as error:
            logger.error("store_unavailable", reason=error.reason)  # noqa: TRY400 - said in a line
            return 1
        except UnexpectedAnswerError as error:
            raise ConfigurationError(error.message) from error
    return 0 if whole else 1


async def _open_once(
    settings: MaintenanceSettings,
    gardening: Gardening,
    metrics: Metrics,
    stack: AsyncExitStack,
    stop: StopSignal,
) -> tuple[WorkedStore, Cache, Once]:
    place = settings.place
    upkeep = metrics.upkeep(actions=ACTIONS, skips=SKIPS)
    if isinstance(place, StateService):
        _require_no_ages(gardening.file)
        remote = await open_remote_store(place.url, place.token)
        close_later(stack, "state_service", remote.close)
        once = _once_alone(remote, settings, OwnLedger(), upkeep, stop)
        return remote, InMemoryCache(), once
    pool, store = await _open_store(place, settings, metrics, stack)
    await _require_schema(store, settings)
    once = Once(
        runner=PassRunner(store, limits=_limits(settings), stop=stop.requested),
        ledger=_ledger(pool, store, settings),
        metrics=upkeep,
        clock=SYSTEM_CLOCK,
        lease_seconds=settings.lease_seconds,
        holder=_holder(),
    )
    return store, PostgresCache(pool, schema=settings.schema), once


def _once_alone(
    store: RemoteStore,
    settings: MaintenanceSettings,
    ledger: OwnLedger,
    upkeep: UpkeepMetrics,
    stop: StopSignal,
) -> Once:
    logger.warning(
        "weaker_fence",
        reason="over a state service each act reads again first, and no claim stands under it:"
        " run one worker alone",
    )
    claims = InMemoryClaims(SYSTEM_CLOCK)
    runner = PassRunner(NoFence(store, claims), limits=_limits(settings), stop=stop.requested)
    return Once(
        runner=runner,
        ledger=ledger,
        metrics=upkeep,
        clock=SYSTEM_CLOCK,
        lease_seconds=settings.lease_seconds,
        holder=_holder(),
    )


def _require_no_ages(file: GardensFile) -> None:
    """ConfigurationError for a rule of retention that asks for documents by age."""
    rules = () if file.retention is None else file.retention.rules
    for rule in rules:
        if rule.about == "scope":
            raise ConfigurationError(
                f"COMMONHOLD_GARDENS: retention of scopes that start with {rule.prefix!r} asks for"
                " documents by age, which no state service tells: use NEOSIAN_POSTGRES_DSN"
            )


async def _drain(
    working: "asyncio.Task[None]", *, health: Health, stop: StopSignal, drain_seconds: float
) -> None:
    """Wait for the signal; the change that is being made ends, the turn is handed back."""
    await stop.requested.wait()
    health.drain()
    logger.info("draining", deadline_seconds=drain_seconds)
    insisting = asyncio.create_task(stop.insisted.wait())
    # The turn itself is given the drain's time; behind it comes the handing back.
    await asyncio.wait(
        (working, insisting),
        timeout=drain_seconds + _HAND_BACK_SECONDS,
        return_when=asyncio.FIRST_COMPLETED,
    )
    insisting.cancel()
    if not working.done():
        tell_unfinished(stop, deadline_seconds=drain_seconds)
        working.cancel()
    logger.info("stopped")


async def _open_store(
    dsn: Secret, settings: MaintenanceSettings, metrics: Metrics, stack: AsyncExitStack
) -> tuple[Pool, PostgresStore]:
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
    return pool, store


def _open_model(
    model: ModelSettings, settings: MaintenanceSettings, cache: Cache, stack: AsyncExitStack
) -> LlmProvider | None:
    """The model behind a breaker and a limiter, which workers on one cache share.

    Nothing is retried in a call: what it holds may be erased before it would be repeated.
    A garden that was refused comes again, and reads anew.
    """
    provider = open_provider(model)
    if provider is None:
        return None
    close_later(stack, "model", provider.close)
    rpm = settings.calls_per_minute
    limiter = None if rpm is None else RateLimiter(rpm=rpm, cache=cache)
    return ResilientLlmProvider(
        provider,
        # Of one server: another address is another host, and has its own.
        tenant_id=str(model.url),
        breaker=CircuitBreaker(
            failure_threshold=settings.circuit_failures,
            recovery_timeout=settings.circuit_seconds,
            cache=cache,
            key_prefix=f"kg:circuit:{model.url}",
        ),
        limiter=limiter,
        policy=NO_RETRIES,
        # A stop or a lost claim, and no time limit: the provider has one of its own.
        fails_when_cancelled=False,
    )


def _ledger(pool: Pool, store: PostgresStore, settings: MaintenanceSettings) -> GardenLedger:
    return PostgresGardenLedger(pool, store.claims, schema=settings.schema)


def _limits(settings: MaintenanceSettings) -> Limits:
    return Limits(
        lease_seconds=settings.lease_seconds,
        pass_seconds=settings.pass_seconds,
        drain_seconds=settings.drain_seconds,
    )


def _holder() -> str:
    return f"maintenance:{uuid.uuid4()}"


async def _require_schema(store: PostgresStore, settings: MaintenanceSettings) -> None:
    state = await store.schema_state()
    if not is_compatible(state):
        raise ConfigurationError(explain(state, schema=settings.schema))


async def _listen_ops(
    settings: MaintenanceSettings, health: Health, metrics: Metrics, stack: AsyncExitStack
) -> object:
    try:
        return await listen_ops(build_ops_app(health, metrics), settings.ops_listen, stack=stack)
    except OSError as error:
        raise ConfigurationError(
            "COMMONHOLD_MAINTENANCE_OPS_LISTEN: cannot listen on"
            f" {settings.ops_listen}: {error.strerror}"
        ) from None
