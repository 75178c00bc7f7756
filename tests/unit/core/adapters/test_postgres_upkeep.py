"""When the service opens and closes itself over the state of the database's schema."""

import asyncio

import pytest

from commonhold.adapters.postgres import upkeep
from commonhold.adapters.postgres.upkeep import SchemaWatch, sweep_forever
from commonhold.contract.errors import StoreUnavailableError
from commonhold.migrations import SCHEMA_VERSION, SchemaState
from commonhold.ops.health import Health
from commonhold_state.app import new_metrics

FITS = SchemaState(SCHEMA_VERSION, SCHEMA_VERSION)
AWAY = StoreUnavailableError("no connection")
DENIED = RuntimeError("permission denied for schema commonhold")


class ScriptedReader:
    """Answers what a test puts in."""

    def __init__(self) -> None:
        self.answer: SchemaState | Exception | None = None
        self.missing: tuple[str, ...] = ()
        self.coded = "UTF8"

    async def schema_state(self) -> SchemaState | None:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def encoding(self) -> str:
        return self.coded

    async def missing_timeouts(self) -> tuple[str, ...]:
        return self.missing


class ScriptedSweeper:
    """Has so many keys to sweep, in batches; fails where a test says."""

    def __init__(self, *batches: int | Exception) -> None:
        self._batches = list(batches)
        self.done = asyncio.Event()

    async def sweep_keys(self) -> int:
        if not self._batches:
            self.done.set()
            return 0
        batch = self._batches.pop(0)
        if isinstance(batch, Exception):
            raise batch
        return batch


@pytest.fixture
def health() -> Health:
    return Health()


@pytest.fixture
def reader() -> ScriptedReader:
    return ScriptedReader()


@pytest.fixture
def watch(reader: ScriptedReader, health: Health) -> SchemaWatch:
    return SchemaWatch(reader, schema="commonhold", health=health, metrics=new_metrics())


async def test_a_fitting_schema_opens_the_service(
    watch: SchemaWatch, reader: ScriptedReader, health: Health
) -> None:
    assert (health.can_serve, health.obstacle) == (False, "starting")
    reader.answer = FITS
    assert await watch.check()
    assert (health.can_serve, health.obstacle) == (True, None)


@pytest.mark.parametrize("coded", ["LATIN1", "SQL_ASCII"])
async def test_a_database_that_cannot_hold_every_text_is_not_served_from(
    watch: SchemaWatch, reader: ScriptedReader, health: Health, coded: str
) -> None:
    reader.answer, reader.coded = FITS, coded
    assert not await watch.check()
    assert not health.can_serve
    assert health.obstacle == (
        f"the database is encoded in {coded}, which cannot hold every text:"
        " make one with ENCODING 'UTF8'"
    )


async def test_timeouts_that_are_not_in_force_are_warned_of_once(
    watch: SchemaWatch, reader: ScriptedReader, capsys: pytest.CaptureFixture[str]
) -> None:
    reader.answer, reader.missing = FITS, ("lock_timeout",)
    for _ in range(3):
        assert await watch.check()
    assert capsys.readouterr().out.count("lock_timeout") == 1


@pytest.mark.parametrize(
    ("state", "remedy"),
    [
        (None, "run `commonhold migrate`"),
        (SchemaState(SCHEMA_VERSION - 1, 1), "run `commonhold migrate`"),
        (SchemaState(SCHEMA_VERSION + 5, SCHEMA_VERSION + 1), "run a newer release"),
    ],
)
async def test_a_schema_that_does_not_fit_is_said_once_with_its_remedy(
    watch: SchemaWatch,
    reader: ScriptedReader,
    health: Health,
    state: SchemaState | None,
    remedy: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reader.answer = state
    for _ in range(3):
        assert not await watch.check()
    assert not health.can_serve
    assert remedy in (health.obstacle or "")
    assert capsys.readouterr().out.count(remedy) == 1


@pytest.mark.parametrize(
    ("fault", "obstacle"),
    [
        (AWAY, f"{upkeep.DATABASE_AWAY}: no connection"),
        (DENIED, f"{upkeep.SCHEMA_UNREADABLE}: permission denied for schema commonhold"),
    ],
)
async def test_a_check_that_fails_delays_the_start_and_does_not_undo_it(
    watch: SchemaWatch, reader: ScriptedReader, health: Health, fault: Exception, obstacle: str
) -> None:
    reader.answer = fault
    assert not await watch.check()
    assert health.obstacle == obstacle
    reader.answer = FITS
    assert await watch.check()
    reader.answer = fault
    assert await watch.check()
    assert health.can_serve


async def test_a_later_migration_that_shuts_this_release_out_closes_it(
    watch: SchemaWatch, reader: ScriptedReader, health: Health
) -> None:
    reader.answer = FITS
    await watch.check()
    reader.answer = SchemaState(SCHEMA_VERSION + 1, SCHEMA_VERSION + 1)
    assert not await watch.check()
    assert not health.can_serve


async def test_draining_is_unready_and_still_serves(health: Health) -> None:
    health.become_ready()
    health.drain()
    assert (health.can_serve, health.obstacle) == (True, "draining")


async def test_sweeping_goes_on_until_nothing_is_left_whatever_fails_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upkeep, "SWEEP_SECONDS", 0.0)
    sweeper = ScriptedSweeper(100, AWAY, 100, DENIED, 3)
    task = asyncio.create_task(sweep_forever(sweeper.sweep_keys))
    async with asyncio.timeout(10):
        await sweeper.done.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
