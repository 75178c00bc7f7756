"""Sessions, for clients that insist on them (docs/reference/mcp.md, section 3)."""

import asyncio
import gc
import json
import logging
import tracemalloc
from collections.abc import AsyncIterator, Iterator

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold_gateway.app import Limits
from tests.support.gateway_service import (
    TOKEN,
    RunningGateway,
    hello,
    reply_of,
    running_gateway,
)
from tests.support.raw_http import Answer, request_bytes

LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello()}
SESSION = "mcp-session-id"
REFUSED = 100


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.fixture
async def stateful(store: InMemoryStore) -> AsyncIterator[RunningGateway]:
    async with running_gateway(store, is_stateful=True) as service:
        yield service


async def begin(gateway: RunningGateway, *, token: str = TOKEN) -> str:
    answer = await gateway.post(INITIALIZE, token=token)
    session = answer.header(SESSION)
    assert session is not None
    assert len(session) == 32
    return session


def error_of(answer: Answer) -> tuple[int, int, str]:
    error = json.loads(answer.text)["error"]
    return answer.status, error["code"], error["message"]


async def test_a_session_is_begun_used_and_ended(stateful: RunningGateway) -> None:
    session = {SESSION: await begin(stateful)}
    # Before `notifications/initialized`, as some clients do.
    answer = await stateful.post(LIST, headers=session)
    assert answer.status == 200
    assert len(reply_of(answer)["result"]["tools"]) > 0
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await stateful.post(note, headers=session)).status == 202
    assert (await stateful.ask("DELETE", "/mcp", headers=session)).status == 200
    assert error_of(await stateful.post(LIST, headers=session)) == (
        404,
        -32600,
        "Session not found",
    )


async def test_without_a_session_only_initialize_is_served(stateful: RunningGateway) -> None:
    told = error_of(await stateful.post(LIST))
    assert told == (400, -32600, "Bad Request: Missing session ID")


async def test_another_credential_gets_404_as_for_an_unknown_session(
    stateful: RunningGateway,
) -> None:
    session = {SESSION: await begin(stateful)}
    unknown = error_of(await stateful.post(LIST, headers={SESSION: "0" * 32}))
    assert error_of(await stateful.post(LIST, headers=session, token="b0b")) == unknown
    assert unknown == (404, -32600, "Session not found")
    assert (await stateful.ask("DELETE", "/mcp", headers=session, token="b0b")).status == 404
    assert (await stateful.post(LIST, headers=session)).status == 200


async def test_a_stream_of_a_session_takes_no_place_and_ends_with_the_service(
    store: InMemoryStore,
) -> None:
    async with running_gateway(store, is_stateful=True) as gateway:
        headers = {
            "host": "localhost",
            "authorization": "Bearer s3cret",
            "accept": "text/event-stream",
            SESSION: await begin(gateway),
        }
        async with await gateway.connect() as connection:
            await connection.send(request_bytes("GET", "/mcp", headers=headers))
            assert await connection.read_line() == b"HTTP/1.1 200 OK\r\n"
            await gateway.until_measured('commonhold_in_flight{service="gateway"} 0.0')
            gateway.server.stop_accepting()
            await asyncio.wait_for(gateway.server.drain(), 5)
            await gateway.server.abort()
            await connection.read_to_end()


async def test_a_call_in_a_session_is_attributed_to_its_caller(
    stateful: RunningGateway, store: InMemoryStore
) -> None:
    session = {SESSION: await begin(stateful)}
    arguments = {"command": "create", "path": "/user/a", "content": "x"}
    params = {"name": "memory", "arguments": arguments}
    reply = await stateful.request("tools/call", params, headers=session)
    assert reply["result"]["content"][0]["text"] == "Created /user/a (v1)"
    document = await store.read("user:ana", "a")
    assert document is not None
    assert document.actor == "client:ana/mcp:gateway"


async def test_one_session_too_many_is_503_and_the_others_go_on(store: InMemoryStore) -> None:
    limits = Limits(sessions=1)
    async with running_gateway(store, is_stateful=True, limits=limits) as gateway:
        session = {SESSION: await begin(gateway)}
        assert (await gateway.post(INITIALIZE)).status == 503
        assert (await gateway.post(LIST, headers=session)).status == 200
        assert (await gateway.ask("DELETE", "/mcp", headers=session)).status == 200
        assert (await gateway.post(INITIALIZE)).status == 200


async def test_a_client_takes_no_more_than_its_part_of_the_sessions(store: InMemoryStore) -> None:
    limits = Limits(sessions=5, sessions_per_client=2)
    async with running_gateway(store, is_stateful=True, limits=limits) as gateway:
        answers = await asyncio.gather(*(gateway.post(INITIALIZE) for _ in range(6)))
        assert sorted(answer.status for answer in answers) == [200, 200, 429, 429, 429, 429]
        told = next(answer for answer in answers if answer.status == 429)
        assert json.loads(told.text)["error"]["message"].startswith(
            "2 sessions of this client are open: end one"
        )
        await begin(gateway, token="b0b")
        (ended, _kept) = [one.header(SESSION) or "" for one in answers if one.status == 200]
        assert (await gateway.ask("DELETE", "/mcp", headers={SESSION: ended})).status == 200
        await begin(gateway)
        assert (await gateway.post(INITIALIZE)).status == 429


async def test_a_request_that_fails_leaves_no_session(store: InMemoryStore) -> None:
    async with running_gateway(store, is_stateful=True, limits=Limits(sessions=1)) as gateway:
        for _ in range(3):
            assert (await gateway.post(LIST)).status == 400
        await begin(gateway)


async def test_a_session_that_is_not_used_ends_and_makes_room(store: InMemoryStore) -> None:
    limits = Limits(sessions=1, session_idle_seconds=0.2)
    async with running_gateway(store, is_stateful=True, limits=limits) as gateway:
        session = {SESSION: await begin(gateway)}
        await until_there_is_room(gateway)
        assert (await gateway.post(LIST, headers=session)).status == 404


@pytest.mark.usefixtures("traced")
async def test_sessions_beyond_the_bound_keep_no_memory(
    store: InMemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    # What the test run captures of the log would be counted too.
    caplog.set_level(logging.ERROR, logger="mcp.server.streamable_http_manager")
    limits = Limits(sessions=20)
    async with running_gateway(store, is_stateful=True, limits=limits) as gateway:
        for _ in range(20):
            await begin(gateway)
        await ask_for_sessions(gateway, 20)
        before = await kept_bytes(gateway)
        await ask_for_sessions(gateway, REFUSED)
        # A session takes about 40 KiB.
        grown = await kept_bytes(gateway) - before
        assert grown < REFUSED * 512, grown


async def until_there_is_room(gateway: RunningGateway) -> None:
    async with asyncio.timeout(20):
        while True:
            answer = await gateway.post(INITIALIZE)
            if answer.status == 200:
                return
            await asyncio.sleep(0.02)


async def ask_for_sessions(gateway: RunningGateway, count: int) -> None:
    for _ in range(count):
        assert (await gateway.post(INITIALIZE)).status == 503


async def kept_bytes(gateway: RunningGateway) -> int:
    await gateway.until_measured('commonhold_in_flight{service="gateway"} 0.0')
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
