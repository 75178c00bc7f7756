"""A key in `_meta` covers the whole call (docs/reference/mcp.md, section 1)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from commonhold.adapters.postgres import PostgresStore
from commonhold_gateway.calls import IDEMPOTENCY_KEY
from tests.support.conversations import tell
from tests.support.gateway_service import (
    TOKEN,
    Called,
    RunningGateway,
    called,
    running_gateway,
)
from tests.support.remote_stores import served

EDIT = {"command": "str_replace", "path": "/user/a", "old_str": "one", "new_str": "one two"}


@pytest.fixture(params=["database", "state service"])
async def gateway(
    request: pytest.FixtureRequest, store: PostgresStore
) -> AsyncIterator[RunningGateway]:
    """Over the store itself, and over a service that has it."""
    if request.param == "database":
        async with running_gateway(store) as service:
            yield service
        return
    async with served(store) as remote, running_gateway(remote) as service:
        yield service


async def keyed(
    gateway: RunningGateway, key: object, tool: str, *, token: str = TOKEN, **arguments: Any
) -> Called:
    params = {"name": tool, "arguments": arguments, "_meta": {IDEMPOTENCY_KEY: key}}
    return called((await gateway.request("tools/call", params, token=token))["result"])


async def test_a_repeated_edit_answers_as_the_first_did(
    gateway: RunningGateway, store: PostgresStore
) -> None:
    created = {"command": "create", "path": "/user/a", "content": "one"}
    first = await keyed(gateway, "k1", "memory", **created)
    assert await keyed(gateway, "k1", "memory", **created) == first
    edited = [await keyed(gateway, "k2", "memory", **EDIT) for _ in range(3)]
    assert edited == [Called(failed=False, text="Edited /user/a (v2)", hint=None)] * 3
    assert [row.version for row in await store.versions("user:ana", "a")] == [2, 1]


async def test_repeats_at_once_change_once(gateway: RunningGateway, store: PostgresStore) -> None:
    await store.write("user:ana", "a", "one")
    answers = await asyncio.gather(*(keyed(gateway, "k", "memory", **EDIT) for _ in range(4)))
    assert {answer.text for answer in answers} == {"Edited /user/a (v2)"}
    assert len(await store.versions("user:ana", "a")) == 2


async def test_a_note_and_its_pick_up_happen_once(
    gateway: RunningGateway, store: PostgresStore
) -> None:
    await tell(store, "chat-1", "hello")
    await store.write("project:erp", "sessions/chat-1", "- conversation: chat-1\n")
    noted = [await keyed(gateway, "n", "handoff", note="Go on.") for _ in range(2)]
    assert noted[0] == noted[1]
    taken = [await keyed(gateway, "c", "continue_session") for _ in range(2)]
    assert taken[0] == taken[1]
    assert "Go on." in taken[0].text
    assert [row.version for row in await store.versions("project:erp", "handoff")] == [2, 1]


async def test_a_key_is_a_clients_own_and_of_one_request(gateway: RunningGateway) -> None:
    one = {"command": "create", "path": "/project/a", "content": "x"}
    assert (await keyed(gateway, "k", "memory", **one)).text == "Created /project/a (v1)"
    other = await keyed(gateway, "k", "memory", **{**one, "content": "y"})
    assert other == (True, "idempotency key was used for another request", None)
    bobs = await keyed(gateway, "k", "memory", token="b0b", **one)
    assert bobs.text == "Created /project/a (v2)"


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "é", 7, True, ["k"]])
async def test_what_is_no_key_is_refused_and_nothing_happens(
    gateway: RunningGateway, store: PostgresStore, key: object
) -> None:
    arguments = {"command": "create", "path": "/user/a", "content": "x"}
    answer = await keyed(gateway, key, "memory", **arguments)
    assert answer.failed
    assert answer.text.startswith(
        f"Invalid arguments for tool 'memory': _meta.{IDEMPOTENCY_KEY}: idempotency key must be"
    )
    assert await store.read("user:ana", "a") is None


async def test_a_tool_that_reads_pays_it_no_heed(
    gateway: RunningGateway, store: PostgresStore
) -> None:
    await store.write("user:ana", "a", "one")
    view = {"command": "view", "path": "/user/a"}
    assert "1: one" in (await keyed(gateway, "k", "memory", **view)).text
    await store.write("user:ana", "a", "two")
    assert "1: two" in (await keyed(gateway, "k", "memory", **view)).text
