"""A process that waits for its state service, and is stopped while it does."""

import asyncio

import pytest

from commonhold.adapters.remote import RemoteStore, open_when_there
from commonhold.ops.health import Health
from commonhold.ops.settings import Secret
from tests.support.ports import free_port
from tests.support.remote_stores import HANDSHAKE
from tests.support.scripted_model import says, scripted_model

TOKEN = Secret("t0ken")


async def _opening() -> "asyncio.Task[RemoteStore]":
    """The task that opens the store, as soon as there is one."""
    while True:
        for task in asyncio.all_tasks():
            if getattr(task.get_coro(), "__name__", "") == "open_remote_store":
                return task
        await asyncio.sleep(0)


async def test_a_store_that_opens_as_its_caller_is_cancelled_is_closed() -> None:
    async with asyncio.timeout(10), scripted_model(says(HANDSHAKE)) as server:
        url = server.base_url.removesuffix("/v1")
        waiting = asyncio.create_task(
            open_when_there(url, TOKEN, health=Health(), stop=asyncio.Event())
        )
        opening = await _opening()
        opening.add_done_callback(lambda _: waiting.cancel())
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(RuntimeError, match="closed"):
            await opening.result().read("u:a", "p")


@pytest.mark.parametrize("turns", range(12))
async def test_no_store_is_left_open_whenever_its_caller_is_cancelled(turns: int) -> None:
    """That many turns of the event loop behind the one in which the store opened."""
    async with asyncio.timeout(10), scripted_model(says(HANDSHAKE)) as server:
        url = server.base_url.removesuffix("/v1")
        waiting = asyncio.create_task(
            open_when_there(url, TOKEN, health=Health(), stop=asyncio.Event())
        )
        opening = await _opening()
        await asyncio.wait([opening])
        for _ in range(turns):
            await asyncio.sleep(0)
        waiting.cancel()
        (found,) = await asyncio.gather(waiting, return_exceptions=True)
        if isinstance(found, RemoteStore):
            await found.close()
        with pytest.raises(RuntimeError, match="closed"):
            await opening.result().read("u:a", "p")


class Told(Health):
    """Says when it was told what is in the way."""

    def __init__(self) -> None:
        super().__init__()
        self.told = asyncio.Event()

    def become_unready(self, obstacle: str) -> None:
        super().become_unready(obstacle)
        self.told.set()


async def test_a_stop_ends_the_wait_for_a_service_that_is_away() -> None:
    stop, health = asyncio.Event(), Told()
    url = f"http://127.0.0.1:{free_port()}"
    async with asyncio.timeout(10):
        waiting = asyncio.create_task(open_when_there(url, TOKEN, health=health, stop=stop))
        await health.told.wait()
        stop.set()
        assert await waiting is None
    assert "127.0.0.1" in str(health.obstacle)
