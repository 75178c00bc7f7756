"""Bounds of a call, and what is said and counted of it (docs/reference/mcp.md, section 7)."""

import asyncio
import gc
import weakref
from typing import Any

from structlog.testing import capture_logs

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.usecases.dispatcher import COMMANDS
from commonhold_gateway.app import Limits
from commonhold_gateway.calls import IDEMPOTENCY_KEY, Turnstile
from commonhold_gateway.tools.table import TOOLS
from tests.support.gateway_service import Called, RunningGateway, running_gateway
from tests.support.held_stores import AwayStore, FailingStore, GatedStore

VIEW: dict[str, Any] = {"command": "view", "path": "/user/a"}
# Each tool and each command, and whether it may change something.
CALLS: list[tuple[str, dict[str, Any], bool]] = [
    ("memory", VIEW, False),
    ("memory", {"command": "view"}, False),
    ("memory", {"command": "create", "path": "/user/a", "content": "x"}, True),
    ("memory", {"command": "str_replace", "path": "/user/a", "old_str": "x", "new_str": ""}, True),
    ("memory", {"command": "insert", "path": "/user/a", "insert_line": 0, "insert_text": ""}, True),
    ("memory", {"command": "delete", "path": "/user/a"}, True),
    ("memory", {"command": "rename", "old_path": "/user/a", "new_path": "/user/b"}, True),
    ("list_skills", {}, False),
    ("load_skill", {"name": "release"}, False),
    ("recall_turn", {"turn": 1, "conversation": "c"}, False),
    ("search_history", {"query": "x"}, False),
    ("continue_session", {}, True),
    ("handoff", {"note": "x"}, True),
]


def sample(gateway: RunningGateway, name: str) -> float:
    lines = gateway.metrics.render().decode().splitlines()
    return next(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


def calls(gateway: RunningGateway, outcome: str, *, tool: str = "memory") -> float:
    return sample(gateway, f'commonhold_tool_calls_total{{outcome="{outcome}",tool="{tool}"}}')


async def test_one_call_too_many_of_a_client_is_refused_and_others_are_served() -> None:
    store = GatedStore()
    async with running_gateway(store, limits=Limits(calls_per_client=2)) as gateway:
        held = [asyncio.create_task(gateway.call("memory", **VIEW)) for _ in range(2)]
        await store.until_waiting(2)
        refused = await gateway.call("memory", **VIEW)
        assert (refused.failed, refused.text) == (
            True,
            "Tool 'memory' failed: too many calls at once",
        )
        assert refused.hint is not None
        assert refused.hint.startswith("2 calls of this client are running")
        other = asyncio.create_task(gateway.call("memory", token="b0b", **VIEW))
        await store.until_waiting(3)
        store.gate.set()
        for call in (*held, other):
            assert (await call).text == "No document or directory at /user/a"
        assert (await gateway.call("memory", **VIEW)).text.startswith("No document")
        assert (calls(gateway, "busy"), calls(gateway, "refused")) == (1, 4)


async def test_a_call_that_takes_too_long_is_ended() -> None:
    store = GatedStore()
    async with running_gateway(store, limits=Limits(call_seconds=0.05)) as gateway:
        answer = await gateway.call("memory", **VIEW)
        assert answer == Called(failed=True, text="Tool 'memory' failed: timed out", hint=None)
        assert calls(gateway, "timed_out") == 1
        store.gate.set()
        assert (await gateway.call("memory", **VIEW)).text.startswith("No document")


async def test_what_breaks_inside_is_logged_and_not_told() -> None:
    store = FailingStore()
    store.failure = RuntimeError("postgresql://user:hunter2@db")
    async with running_gateway(store) as gateway:
        with capture_logs() as logs:
            answer = await gateway.call("memory", **VIEW)
        assert answer == Called(failed=True, text="Tool 'memory' failed: internal error", hint=None)
        assert [log["event"] for log in logs if log["log_level"] == "error"] == ["tool_failed"]
        assert calls(gateway, "failed") == 1


async def test_a_store_that_is_away_is_told_by_every_tool_and_its_reason_by_none() -> None:
    async with running_gateway(AwayStore()) as gateway:
        with capture_logs() as logs:
            answers = [
                (await gateway.call(tool, meta=meta, **arguments), changes)
                for tool, arguments, changes in CALLS
                for meta in ({}, {IDEMPOTENCY_KEY: f"key-of-{tool}-{len(arguments)}"})
            ]
        failed = sum(calls(gateway, "failed", tool=tool.name) for tool in TOOLS)
    assert {tool for tool, *_rest in CALLS} == {tool.name for tool in TOOLS}
    assert {arguments.get("command") for _tool, arguments, _changes in CALLS} >= COMMANDS.keys()
    for answer, changes in answers:
        assert answer.failed
        assert answer.text.endswith(" failed: the store is not reachable at the moment")
        assert "Repeat the call" in (answer.hint or "")
        assert ("unknown" in (answer.hint or "")) is changes
        assert ("Nothing was changed" in (answer.hint or "")) is not changes
        assert "hunter2" not in f"{answer}"
    assert failed == len(answers)
    reasons = [log["reason"] for log in logs if log["event"] == "tool_failed"]
    assert reasons == ["postgresql://hunter2@db"] * len(answers)


async def test_a_success_a_refusal_and_what_is_no_tool_are_told_apart() -> None:
    async with running_gateway(InMemoryStore()) as gateway:
        assert not (
            await gateway.call("memory", command="create", path="/user/a", content="x")
        ).failed
        assert (await gateway.call("memory", command="delete", path="/kb/a")).failed
        assert (await gateway.call("memory", command="look")).failed
        assert (await gateway.call("nosuch")).failed
        assert (await gateway.call("list_skills")).failed is False
        assert [calls(gateway, kind) for kind in ("ok", "refused", "invalid")] == [1, 1, 1]
        assert calls(gateway, "invalid", tool="unknown") == 1
        assert calls(gateway, "ok", tool="list_skills") == 1
        assert sample(gateway, 'commonhold_tool_call_duration_seconds_count{tool="memory"}') == 3


async def test_room_is_given_back_whatever_ends_a_call() -> None:
    store = FailingStore()
    async with running_gateway(store, limits=Limits(calls_per_client=1)) as gateway:
        for _ in range(3):
            assert (await gateway.call("memory", **VIEW)).text.endswith("internal error")


def test_a_client_without_a_call_in_flight_is_forgotten() -> None:
    class Name(str):
        """One that tells whether somebody still has it."""

        __slots__ = ("__weakref__",)

    client = Name("client:a")
    kept = weakref.ref(client)
    turnstile = Turnstile(calls_per_client=2, call_seconds=1)
    with turnstile.pass_through(client), turnstile.pass_through(client):
        pass
    del client
    gc.collect()
    assert kept() is None
