"""What a service on Postgres does beside its work: watch the schema, sweep what is over."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import structlog

from commonhold.contract.errors import StoreUnavailableError
from commonhold.migrations import SchemaState, encoding_fault, explain, is_compatible
from commonhold.ops.health import Health
from commonhold.ops.metrics import Metrics

RETRY_SECONDS = 1.0
RECHECK_SECONDS = 10.0
SWEEP_SECONDS = 60.0
DATABASE_AWAY = "the database cannot be reached"
SCHEMA_UNREADABLE = "the schema's version cannot be read"

logger = structlog.get_logger(__name__)


class SchemaReader(Protocol):
    async def schema_state(self) -> SchemaState | None:
        """What the database holds; StoreUnavailableError when it cannot be reached."""
        ...

    async def encoding(self) -> str:
        """What the database's texts are encoded in."""
        ...

    async def missing_timeouts(self) -> tuple[str, ...]:
        """The timeouts that are not in force on the service's connections."""
        ...


class SchemaWatch:
    """Opens the service when the schema fits, and closes it when it no longer does.

    A database that is away at start delays readiness; one that goes away later does not
    take it back.
    """

    def __init__(
        self, reader: SchemaReader, *, schema: str, health: Health, metrics: Metrics
    ) -> None:
        self._reader = reader
        self._schema = schema
        self._health = health
        self._metrics = metrics

    async def run(self) -> None:
        """Check for as long as the process lives."""
        while True:
            fits = await self.check()
            await asyncio.sleep(RECHECK_SECONDS if fits else RETRY_SECONDS)

    async def check(self) -> bool:
        """Look once; whether the service can serve."""
        try:
            state = await self._reader.schema_state()
            fault, missing = await self._inspect()
        except StoreUnavailableError as error:
            return self._cannot_tell(f"{DATABASE_AWAY}: {error.reason}")
        except Exception as error:  # noqa: BLE001 - the outermost frame of a loop
            return self._cannot_tell(f"{SCHEMA_UNREADABLE}: {error}")
        self._metrics.schema_version.set(0 if state is None else state.version)
        if fault is not None:
            self._health.become_unready(fault)
            return False
        if not is_compatible(state):
            self._health.become_unready(explain(state, schema=self._schema))
            return False
        if not self._health.can_serve:
            logger.info("ready", schema=self._schema, schema_version=state and state.version)
            _warn_of(missing)
        self._health.become_ready()
        return True

    async def _inspect(self) -> tuple[str | None, tuple[str, ...]]:
        """Before the first request: what bars the service, and which timeouts are off."""
        if self._health.can_serve:
            return None, ()
        fault = encoding_fault(await self._reader.encoding())
        return fault, await self._reader.missing_timeouts()

    def _cannot_tell(self, reason: str) -> bool:
        """What was found last stands: a service that is open stays open."""
        if self._health.can_serve:
            logger.warning("schema_check_failed", reason=reason)
        else:
            self._health.become_unready(reason)
        return self._health.can_serve


def _warn_of(missing: tuple[str, ...]) -> None:
    if missing:
        logger.warning(
            "timeouts_missing",
            settings=missing,
            remedy="a pooler dropped them: give the serving role its own,"
            " `commonhold migrate --grant-to ROLE`",
        )


async def sweep_forever(sweep: Callable[[], Awaitable[int]]) -> None:
    """Delete what is over now and then, a batch a call; whatever fails is tried again later."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        try:
            while await sweep():
                pass
        except StoreUnavailableError as error:
            logger.warning("sweep_failed", reason=error.reason)
        except Exception:
            logger.exception("sweep_failed")
