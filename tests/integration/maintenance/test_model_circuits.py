"""A model that fails, is busy or hangs: it is left alone by every worker, and asked again later."""

import asyncio
import json
import re
import signal
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import asyncpg

from tests.support.maintenance_process import SCOPE, maintenance_process, plant_copies, until
from tests.support.scripted_model import (
    Exchange,
    ScriptedModel,
    Step,
    completion,
    hangs,
    says,
    scripted_model,
)
from tests.support.service_process import TOKEN, ServiceProcess
from tests.support.state_process import post, state_process

ALONE_SECONDS = 2.0
# A monotonic clock measures here what the workers measure by the time of day.
CLOCKS_APART = 0.1
OTHER = "user:bo"
USAGE = {"prompt_tokens": 90, "completion_tokens": 30, "total_tokens": 120}
PRICED = {
    "COMMONHOLD_MODEL_INPUT_USD_PER_MILLION": "1",
    "COMMONHOLD_MODEL_OUTPUT_USD_PER_MILLION": "2",
}
COST_MICRO_USD = 150
GOOD = says(completion(json.dumps({"ops": []}), usage=USAGE))
FAILED = "Maintenance failed: ProviderTransportError"
OPEN = "Maintenance failed: CircuitOpen"
LIMITED = "Maintenance failed: RateLimitExceeded"


def asks(name: str, scope: str) -> str:
    return f"""
[gardens.{name}]
mounts = [{{scope = "{scope}", path = "user"}}]
interval = "1s"
jitter = 0.0
min_age_days = 0
model = true
"""


def write(folder: Path, name: str, scope: str = SCOPE) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(asks(name, scope))
    return path


def settings_for(model: ScriptedModel, **more: str) -> dict[str, str]:
    return {
        "COMMONHOLD_MODEL_URL": model.base_url,
        "COMMONHOLD_MODEL_NAME": "scripted",
        "COMMONHOLD_MODEL_CIRCUIT_SECONDS": str(ALONE_SECONDS),
        **{f"COMMONHOLD_MODEL_{name.upper()}": value for name, value in more.items()},
    }


def passes(worker: ServiceProcess, degraded: str | None) -> list[dict[str, Any]]:
    return [one for one in worker.events("upkeep_pass") if one.get("degraded") == degraded]


async def until_pass(worker: ServiceProcess, degraded: str | None) -> dict[str, Any]:
    async def arrived() -> bool:
        assert worker.process.returncode is None, "\n".join(worker.lines)
        return bool(passes(worker, degraded))

    await until(arrived)
    return passes(worker, degraded)[0]


async def until_handed_back(eye: asyncpg.Connection, garden: str) -> None:
    """Until its job, which a turn that ended would have taken along, waits once more."""

    async def arrived() -> bool:
        attempts = "SELECT attempts FROM commonhold.jobs WHERE entrypoint = $1"
        return bool(await eye.fetchval(attempts, garden))

    await until(arrived)


async def until_event_of(*workers: ServiceProcess, name: str) -> None:
    async def arrived() -> bool:
        return any(worker.events(name) for worker in workers)

    await until(arrived)


class Stamped:
    """Plays a step, and notes when it was asked."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.times: list[float] = []

    async def __call__(self, exchange: Exchange) -> None:
        self.times.append(time.monotonic())
        await self.step(exchange)

    @property
    def gaps(self) -> list[float]:
        return [later - sooner for sooner, later in zip(self.times, self.times[1:], strict=False)]


async def test_a_model_that_fails_is_left_alone_by_every_worker_and_asked_again(
    database_dsn: str, eye: asyncpg.Connection, tmp_path: Path
) -> None:
    await plant_copies(eye, 3)
    await plant_copies(eye, 3, scope=OTHER)
    script = Stamped(says(b"", status=500))
    async with scripted_model(script) as model:
        settings = settings_for(model, circuit_failures="1")
        home, work = write(tmp_path, "home"), write(tmp_path, "work", OTHER)
        async with maintenance_process(database_dsn, home, settings=settings) as first:
            assert (await until_pass(first, FAILED))["garden"] == "home"
            assert first.events("circuit_opened")
            async with maintenance_process(database_dsn, work, settings=settings) as second:
                # Its garden is its own: what it knows of the model, the other told it.
                told = await until_pass(second, OPEN)
                await until_handed_back(eye, "work")
                for line in (told, await until_pass(first, OPEN)):
                    assert 0 <= line["put_off_seconds"] <= ALONE_SECONDS
                    assert line["skipped"] == [
                        {"command": "ask", "path": "/user", "reason": "circuit_open"}
                    ]
                metrics = (await second.ops("/metrics")).text
                assert re.search(r'skips_total\{reason="circuit_open"\} [1-9]', metrics)
                # What needs no model was done all the same.
                assert sum(len(line["writes"]) for line in second.events("upkeep_pass")) == 2
                script.step = GOOD
                # Whoever of them comes first.
                await until_event_of(first, second, name="circuit_closed")
                failed = len(passes(first, FAILED)) + len(passes(second, FAILED))
    assert failed >= 1
    assert min(script.gaps[:failed]) >= ALONE_SECONDS - CLOCKS_APART


async def test_a_model_that_says_when_is_asked_no_sooner(
    database_dsn: str, eye: asyncpg.Connection, tmp_path: Path
) -> None:
    await plant_copies(eye, 3)
    script = Stamped(says(b"", status=429, headers={"Retry-After": f"{ALONE_SECONDS:.0f}"}))
    async with scripted_model(script) as model:
        settings = {**settings_for(model), **PRICED}
        path = write(tmp_path, "home")
        async with maintenance_process(database_dsn, path, settings=settings) as worker:
            await until_pass(worker, FAILED)
            script.step = GOOD
            line = await until_pass(worker, None)
    assert script.gaps[0] >= ALONE_SECONDS - CLOCKS_APART
    assert line["cost_micro_usd"] == COST_MICRO_USD


async def test_workers_share_the_limit_of_calls(
    database_dsn: str, eye: asyncpg.Connection, tmp_path: Path
) -> None:
    await plant_copies(eye, 3)
    await plant_copies(eye, 3, scope=OTHER)
    async with scripted_model(GOOD) as model:
        settings = settings_for(model, calls_per_minute="1")
        async with AsyncExitStack() as stack:
            workers = [
                await stack.enter_async_context(
                    maintenance_process(database_dsn, path, settings=settings, arguments=("once",))
                )
                for path in (write(tmp_path, "home"), write(tmp_path, "work", OTHER))
            ]
            assert sorted([await one.exit_status() for one in workers]) == [0, 1]
        (line,) = [line for one in workers for line in passes(one, LIMITED)]
        assert 0 < line["put_off_seconds"] <= 60
        assert line["skipped"][0]["reason"] == "rate_limited"
        assert len(model.requests) == 1


async def test_a_stop_waits_for_no_model(
    database_dsn: str, eye: asyncpg.Connection, tmp_path: Path
) -> None:
    await plant_copies(eye, 3)
    async with scripted_model(hangs) as model:
        # Far longer than the test waits.
        settings = settings_for(model, circuit_failures="1")
        settings |= {"COMMONHOLD_DRAIN_SECONDS": "300"}
        path = write(tmp_path, "home")
        async with maintenance_process(database_dsn, path, settings=settings) as worker:
            await model.asked.wait()
            worker.signal(signal.SIGTERM)
            assert await worker.exit_status() == 0
            assert [line["end"] for line in worker.events("upkeep_pass")] == ["stopped"]
        await asyncio.wait_for(model.abandoned.wait(), 30)
    assert await eye.fetchval("SELECT status::text FROM commonhold.jobs") == "queued"
    # Nor is it the model's failure.
    assert await eye.fetchval("SELECT count(*) FROM commonhold.cache_values") == 0


async def test_over_a_state_service_the_worker_leaves_a_hanging_model_alone_too(
    database_dsn: str, tmp_path: Path
) -> None:
    async with state_process(database_dsn) as state, scripted_model(hangs) as model:
        await state.until_ops("/readyz", status=200)
        body = {"scope": SCOPE, "path": "tea", "content": "Likes tea."}
        assert (await post(state, "memory/write", body)).status == 200
        settings = settings_for(
            model, circuit_failures="1", circuit_seconds="600", timeout_seconds="1"
        )
        settings |= {
            "COMMONHOLD_STATE_URL": f"http://127.0.0.1:{state.port}",
            "NEOSIAN_CLIENT_TOKEN": TOKEN,
        }
        path = write(tmp_path, "home")
        async with maintenance_process(None, path, settings=settings) as worker:
            await until_pass(worker, FAILED)
            await until_pass(worker, OPEN)
        assert len(model.requests) == 1
