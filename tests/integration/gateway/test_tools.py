"""Every tool through the official client, in both eras, on Postgres."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp.client import Client

from commonhold.adapters.postgres import PostgresStore
from commonhold.contract import MemoryDocument
from tests.support.conversations import agent, call, result, tell, user
from tests.support.gateway_service import (
    TOKEN,
    RunningGateway,
    reach_of,
    running_gateway,
)
from tests.support.mcp_clients import ERAS, bearer, mcp_client, texts

SKILL = "---\ndescription: Ship the project\n---\n1. Run the tests.\n2. Tag it."
DOOR = "/mcp:gateway"


@pytest.fixture(params=ERAS)
async def client(request: pytest.FixtureRequest, gateway: RunningGateway) -> AsyncIterator[Client]:
    connected: asyncio.Queue[Client] = asyncio.Queue()
    left = asyncio.Event()

    async def hold() -> None:
        # The client's scopes have to be left by the task that entered them.
        async with mcp_client(gateway.url, headers=bearer(TOKEN), era=request.param) as found:
            connected.put_nowait(found)
            await left.wait()

    holder = asyncio.create_task(hold())
    yield await asyncio.wait_for(connected.get(), 30)
    left.set()
    await holder


async def ask(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, texts(answer)
    return texts(answer)[0]


async def refuse(client: Client, tool: str, **arguments: Any) -> list[str]:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return texts(answer)


async def test_memory(client: Client, store: PostgresStore) -> None:
    assert await ask(client, "memory", command="create", path="/user/a", content="one\ntwo")
    edited = await ask(
        client, "memory", command="str_replace", path="/user/a", old_str="two", new_str="2"
    )
    assert edited == "Edited /user/a (v2)"
    inserted = {"command": "insert", "path": "/user/a", "insert_line": 2, "insert_text": "3"}
    assert await ask(client, "memory", **inserted) == "Edited /user/a (v3)"
    renamed = {"command": "rename", "old_path": "/user/a", "new_path": "/user/b"}
    assert await ask(client, "memory", **renamed) == "Renamed /user/a to /user/b (v1)"
    viewed = await ask(client, "memory", command="view", path="/user/b", view_range=[2, -1])
    assert viewed == "/user/b (v1):\n2: 2\n3: 3"
    assert "- /user/b" in await ask(client, "memory", command="view")
    read_only = await refuse(client, "memory", command="create", path="/kb/x", content="x")
    assert read_only[0] == "[memory_read_only_mount] Memory mount 'kb' is read-only"
    assert len(read_only) == 2
    assert await ask(client, "memory", command="delete", path="/user/b") == "Deleted /user/b"
    versions = await store.versions("user:ana", "a")
    assert {row.actor for row in versions} == {f"client:ana{DOOR}"}
    await store.write("user:ana", "gone", "x")
    await store.redact("user:ana", path="gone")
    assert (await ask(client, "memory", command="view", path="/user/gone")).startswith(
        "/user/gone: (redacted"
    )


async def test_skills_as_tools_and_as_prompts(client: Client) -> None:
    path = "/project/skills/release"
    await ask(client, "memory", command="create", path=path, content=SKILL)
    rows = json.loads(await ask(client, "list_skills"))
    assert rows[0] == {
        "name": "release",
        "description": "Ship the project",
        "path": path,
        "version": 1,
    }
    assert rows[-1]["name"] == "handoff"
    assert await ask(client, "load_skill", name="release") == "1. Run the tests.\n2. Tag it."
    assert (await refuse(client, "load_skill", name="x"))[0] == "Skill 'x' not found"
    prompts = await client.list_prompts()
    assert [prompt.name for prompt in prompts.prompts] == ["release", "handoff"]
    prompt = await client.get_prompt("release")
    assert prompt.messages[0].role == "user"
    assert getattr(prompt.messages[0].content, "text", "") == "1. Run the tests.\n2. Tag it."


async def test_history(client: Client, store: PostgresStore) -> None:
    await store.append_turn(
        "chat-1",
        [
            user("Where is the deploy script?"),
            agent("Looking.", call("search", q="deploy script")),
            result("found it"),
            agent("In ops/deploy.sh"),
        ],
    )
    await tell(store, "chat-2", "Draft the announcement")
    recalled = await ask(client, "recall_turn", turn=1, conversation="chat-1")
    assert recalled.splitlines()[:2] == [
        "Turn 1 (verbatim):",
        "USER: Where is the deploy script?",
    ]
    assert await refuse(client, "recall_turn", turn="9", conversation="chat-1") == [
        "Turn 9 does not exist",
        "Conversation 'chat-1' has turns 1-1.",
    ]
    found = await ask(client, "search_history", query="DEPLOY script", limit=80)
    assert found.startswith("[chat-1 #1] ")
    assert "at most 50" in found.splitlines()[-1]
    assert (await ask(client, "search_history", query="zebra moon")).startswith(
        "No turn matches every term: 'zebra', 'moon'"
    )


async def test_a_note_is_left_and_picked_up(client: Client, store: PostgresStore) -> None:
    await tell(store, "chat-2", "Draft the announcement")
    session = "# demo session chat-2\n\n- conversation: chat-2\n- turns: 1\n"
    await store.write("project:erp", "sessions/chat-2", session)
    recorded = await ask(client, "handoff", note="Next: tag v2. See [1].")
    assert recorded.startswith("[handoff note recorded")
    continued = await ask(client, "continue_session")
    assert continued.startswith("[continuing conversation chat-2")
    assert "Next: tag v2. See [1]." in continued
    note = await read(store, "project:erp", "handoff")
    assert f"by client:ana{DOOR}" in note.content
    assert "- status: picked up" in note.content
    assert (note.version, note.actor) == (2, f"client:ana{DOOR}")


async def test_two_pick_ups_at_once_leave_one_mark(
    gateway: RunningGateway, store: PostgresStore
) -> None:
    await tell(store, "chat-2", "Draft the announcement")
    await store.write("project:erp", "sessions/chat-2", "- conversation: chat-2\n")
    for _ in range(5):
        await gateway.call("handoff", note="Take me.")
        before = await read(store, "project:erp", "handoff")
        answers = await asyncio.gather(
            gateway.call("continue_session"), gateway.call("continue_session", token="b0b")
        )
        assert [answer.failed for answer in answers] == [False, False], answers
        after = await read(store, "project:erp", "handoff")
        assert after.version == before.version + 1
        assert after.content.count("picked up") == 1


async def test_two_clients_write_under_their_own_names(
    gateway: RunningGateway, store: PostgresStore
) -> None:
    for token in (TOKEN, "b0b"):
        await gateway.call(
            "memory", token=token, command="create", path="/project/x", content=token
        )
    actors = [row.actor for row in await store.versions("project:erp", "x")]
    assert actors == [f"client:bob{DOOR}", f"client:ana{DOOR}"]


async def test_conversations_are_fenced_by_the_clients_prefixes(store: PostgresStore) -> None:
    for number in range(12):
        await tell(store, f"bob-{number}", "deploy")
    await tell(store, "ana-1", "deploy")
    reaches = {
        "client:ana": reach_of(conversation_prefixes=("ana-",)),
        "client:bob": reach_of(conversation_prefixes=()),
    }
    # Newer hits and sessions of others would crowd this one out of their limits.
    await tell(store, "bob-12", "deploy theirs")
    for number in (1, 2, 12):
        session = f"- conversation: bob-{number}\n"
        await store.write("project:erp", f"sessions/bob-{number}", session)
    first = "- conversation: ana-1\n- continues: bob-1\n"
    await store.write("project:erp", "sessions/ana-1", first)
    await store.write("project:erp", "sessions/bob-12", "- conversation: bob-12\n")
    async with running_gateway(store, reaches=reaches) as gateway:
        found = await gateway.call("search_history", query="deploy", limit=1)
        assert found.text.startswith("[ana-1 #1]")
        nothing = await gateway.call("search_history", token="b0b", query="deploy")
        assert nothing.text.startswith("No turn matches every term")
        for tool, arguments in (
            ("recall_turn", {"turn": 1, "conversation": "bob-1"}),
            ("search_history", {"query": "deploy", "conversation": "bob-1"}),
            ("continue_session", {"conversation": "bob-1"}),
        ):
            answer = await gateway.call(tool, **arguments)
            assert answer.text == "Conversation 'bob-1' is not addressable from here"
        continued = await gateway.call("continue_session")
        assert continued.text.startswith("[continuing conversation ana-1 ")
        assert "bob-" not in continued.text
        instructions = (await gateway.initialize())["instructions"]
        assert "Conversation ana-1, " in instructions
        assert "Conversation bob-" not in instructions
        assert "theirs" not in instructions


async def test_a_document_of_another_tool_that_is_malformed_breaks_nothing(
    gateway: RunningGateway, store: PostgresStore
) -> None:
    await tell(store, "chat-1", "hello there")
    await store.write("user:ana", "messages/broken", "\x01 not a message \u2028")
    await store.write("project:erp", "handoff", "no note at all")
    await store.write("project:erp", "sessions/chat-1", "::: not a session")
    assert "## /user" in (await gateway.initialize())["instructions"]
    assert not (await gateway.call("search_history", query="hello")).failed
    assert not (await gateway.call("recall_turn", turn=1, conversation="chat-1")).failed
    assert not (await gateway.call("list_skills")).failed


async def test_a_redaction_is_gone_from_the_next_instructions(
    gateway: RunningGateway, store: PostgresStore
) -> None:
    await tell(store, "chat-1", "the launch code is 0000")
    await store.write("project:erp", "sessions/chat-1", "- conversation: chat-1\n")
    assert "launch code" in (await gateway.initialize())["instructions"]
    await store.redact_turns("chat-1", turns=[1])
    assert "launch code" not in (await gateway.initialize())["instructions"]


async def read(store: PostgresStore, scope: str, path: str) -> MemoryDocument:
    document = await store.read(scope, path)
    assert document is not None
    return document
