"""A gateway whose store is a state service: all of it as processes, seen from outside."""

import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from commonhold_gateway.calls import IDEMPOTENCY_KEY
from tests.support.gateway_process import (
    ask,
    assert_does_not_start,
    call,
    call_bytes,
    gateway_process,
    until_in_flight,
)
from tests.support.gateway_service import called, reply_of
from tests.support.held_writes import writes_held_up
from tests.support.ports import free_port
from tests.support.raw_http import request_bytes
from tests.support.service_process import TOKEN, ServiceProcess
from tests.support.state_process import post, state_process

UPSTREAM = "up-token"
SKILL = "---\nname: greet\ndescription: How to greet\n---\nSay hello.\n"
NOTE = "Next: tag v2."
CALLS = 4


def over(port: int, *, token: str = UPSTREAM) -> dict[str, str]:
    return {
        "COMMONHOLD_STATE_URL": f"http://127.0.0.1:{port}",
        "NEOSIAN_CLIENT_TOKEN": token,
        "NEOSIAN_SERVE_TOKEN": f"client:ana={TOKEN}",
    }


@asynccontextmanager
async def upstream(dsn: str) -> AsyncIterator[ServiceProcess]:
    tokens = f"client:gw={UPSTREAM},client:eye={TOKEN}"
    async with state_process(dsn, settings={"NEOSIAN_SERVE_TOKEN": tokens}) as state:
        await state.until_ops("/readyz", status=200)
        yield state


@asynccontextmanager
async def both(dsn: str) -> AsyncIterator[tuple[ServiceProcess, ServiceProcess]]:
    """A state service, and a gateway over it."""
    async with upstream(dsn) as state, gateway_process(None, settings=over(state.port)) as gateway:
        await gateway.until_ops("/readyz", status=200)
        yield state, gateway


async def keyed(gateway: ServiceProcess, key: str, arguments: Mapping[str, object]) -> str:
    request = call_bytes("memory", arguments, meta={IDEMPOTENCY_KEY: key})
    return called(reply_of(await ask(gateway, request))["result"]).text


async def test_every_tool_works_through_a_state_service(database_dsn: str) -> None:
    async with (
        upstream(database_dsn) as state,
        gateway_process(None, settings=over(state.port)) as gw,
    ):
        await gw.until_ops("/readyz", status=200)
        for turn in ("Where is the tag?", "It is v1."):
            message = {"role": "user", "content": turn}
            body = {"conversation_id": "chat-1", "messages": [message]}
            assert (await post(state, "conversation/append_turn", body)).status == 200
        said = {
            "create": await call(
                gw, "memory", command="create", path="/user/a", content="one\ntwo"
            ),
            "str_replace": await call(
                gw, "memory", command="str_replace", path="/user/a", old_str="two", new_str="2"
            ),
            "insert": await call(
                gw, "memory", command="insert", path="/user/a", insert_line=0, insert_text="zero"
            ),
            "view": await call(gw, "memory", command="view", path="/user/a"),
            "rename": await call(
                gw, "memory", command="rename", old_path="/user/a", new_path="/project/b"
            ),
            "delete": await call(gw, "memory", command="delete", path="/project/b"),
        }
        assert said == {
            "create": "Created /user/a (v1)",
            "str_replace": "Edited /user/a (v2)",
            "insert": "Edited /user/a (v3)",
            "view": "/user/a (v3):\n1: zero\n2: one\n3: 2",
            "rename": "Moved /user/a to /project/b (v1)",
            "delete": "Deleted /project/b",
        }
        await call(gw, "memory", command="create", path="/user/skills/greet", content=SKILL)
        assert "How to greet" in await call(gw, "list_skills")
        assert "Say hello." in await call(gw, "load_skill", name="greet")
        recalled = await call(gw, "recall_turn", turn=1, conversation="chat-1")
        assert recalled.endswith("USER: Where is the tag?")
        assert "[chat-1 #2]" in await call(gw, "search_history", query="v1")
        assert (await call(gw, "handoff", note=NOTE)).startswith("[handoff note recorded")
        listing = "- conversation: chat-1\n"
        await call(gw, "memory", command="create", path="/project/sessions/chat-1", content=listing)
        assert NOTE in await call(gw, "continue_session")
        await assert_attributed(state)
        await assert_truthful(gw)


async def assert_attributed(state: ServiceProcess) -> None:
    """Both clients are named: the gateway's own at the service, and who called the gateway."""
    history = await post(state, "memory/history", {"scope": "project:erp"})
    assert history.text.count('"actor":"client:gw/client:ana/mcp:gateway"') == 5


async def assert_truthful(gateway: ServiceProcess) -> None:
    metrics = (await gateway.until_ops("/metrics", status=200, holding="state_up 1.0")).text
    for absent in ("commonhold_pool", "commonhold_database_up", "commonhold_schema_version"):
        assert absent not in metrics


async def test_a_repeated_call_happens_once(database_dsn: str) -> None:
    async with (
        upstream(database_dsn) as state,
        gateway_process(None, settings=over(state.port)) as gw,
    ):
        await gw.until_ops("/readyz", status=200)
        await call(gw, "memory", command="create", path="/user/a", content="one")
        edit = {"command": "str_replace", "path": "/user/a", "old_str": "one", "new_str": "one two"}
        answers = [await keyed(gw, "k", edit) for _ in range(3)]
        assert answers == ["Edited /user/a (v2)"] * 3
        move = {"command": "rename", "old_path": "/user/a", "new_path": "/project/a"}
        answers = [await keyed(gw, "m", move) for _ in range(2)]
        assert answers == ["Moved /user/a to /project/a (v1)"] * 2
        assert "used for another request" in await keyed(gw, "k", move)


async def test_a_state_service_that_comes_late_and_goes_away(database_dsn: str) -> None:
    port = free_port()
    settings = {
        "NEOSIAN_SERVE_TOKEN": f"client:gw={UPSTREAM}",
        "COMMONHOLD_STATE_LISTEN": f"127.0.0.1:{port}",
    }
    async with gateway_process(None, settings=over(port)) as gw:
        unready = await gw.until_ops("/readyz", status=503, holding="cannot be reached")
        assert f"http://127.0.0.1:{port}" in unready.text
        view = call_bytes("memory", {"command": "view", "path": "/user/a"})
        assert (await ask(gw, view)).status == 503
        async with state_process(database_dsn, settings=settings):
            await gw.until_ops("/readyz", status=200)
            await call(gw, "memory", command="create", path="/user/a", content="one")
        failed = await call(gw, "memory", command="view", path="/user/a")
        assert failed == "Tool 'memory' failed: the store is not reachable at the moment"
        # Ready it stays: all replicas would leave at once.
        assert (await gw.ops("/readyz")).status == 200
        async with state_process(database_dsn, settings=settings) as state:
            await state.until_ops("/readyz", status=200)
            assert "1: one" in await call(gw, "memory", command="view", path="/user/a")
        gw.signal(signal.SIGTERM)
        assert await gw.exit_status() == 0
        assert not any(UPSTREAM in line for line in gw.lines)


async def test_a_store_that_was_never_there_is_told_as_with_a_database() -> None:
    """The service listens, lives and is not ready; whoever calls is asked to come back."""
    nowhere = f"postgresql://postgres@127.0.0.1:{free_port()}/x"
    view = call_bytes("memory", {"command": "view", "path": "/"})
    unknown = view.replace(TOKEN.encode(), b"unknown")
    requests = (request_bytes("GET", "/health"), unknown, view)
    told = []
    for dsn, settings in ((nowhere, over(1)), (None, over(free_port()))):
        given = {} if dsn else settings
        async with gateway_process(dsn, settings=given) as gw:
            await gw.until_ops("/readyz", status=503, holding="cannot be reached")
            answers = [await ask(gw, request) for request in requests]
            assert (await gw.ops("/livez")).status == 200
            assert answers[-1].header("retry-after") == "1"
            told.append([(answer.status, answer.body) for answer in answers])
    assert [status for status, _ in told[0]] == [200, 401, 503]
    assert told[1] == told[0]


async def test_a_gateway_that_waits_for_its_state_service_can_be_stopped() -> None:
    async with gateway_process(None, settings=over(free_port())) as gw:
        await gw.until_ops("/readyz", status=503, holding="cannot be reached")
        gw.signal(signal.SIGTERM)
        assert await gw.exit_status() == 0


async def test_a_token_that_is_not_accepted_is_said(database_dsn: str) -> None:
    async with (
        upstream(database_dsn) as state,
        gateway_process(None, settings=over(state.port, token="wr0ng")) as gw,
    ):
        await gw.until_ops("/readyz", status=503, holding="does not accept the token")
        assert not any("wr0ng" in line for line in gw.lines)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (over(1), "NEOSIAN_POSTGRES_DSN and COMMONHOLD_STATE_URL are both set"),
        ({"COMMONHOLD_STATE_URL": "localhost:1"}, "COMMONHOLD_STATE_URL must be an address"),
    ],
)
async def test_two_places_or_none_stop_the_start(settings: Mapping[str, str], said: str) -> None:
    line = await assert_does_not_start("postgresql://127.0.0.1/x", settings=settings)
    assert said in line


async def test_calls_that_outlast_the_drain_are_cut_before_the_store_closes(
    database_dsn: str,
) -> None:
    async with (
        upstream(database_dsn) as state,
        gateway_process(
            None, settings={**over(state.port), "COMMONHOLD_DRAIN_SECONDS": "0.2"}
        ) as gateway,
        AsyncExitStack() as stack,
    ):
        await gateway.until_ops("/readyz", status=200)
        await stack.enter_async_context(writes_held_up(database_dsn))
        for number in range(CALLS):
            connection = await stack.enter_async_context(await gateway.connect())
            arguments = {"command": "create", "path": f"/user/{number}", "content": "x"}
            await connection.send(call_bytes("memory", arguments))
        await until_in_flight(gateway, CALLS)
        gateway.signal(signal.SIGTERM)
        assert await gateway.exit_status() == 0
        assert len(gateway.events("drain_deadline_passed")) == 1
        assert not [line for line in gateway.lines if "Traceback" in line or '"error"' in line]
