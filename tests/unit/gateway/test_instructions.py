"""What a client is told when it begins, and the prompts (docs/reference/mcp.md, 5 and 9)."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import MemoryEntry, Outline, StoreUnavailableError
from commonhold.usecases.instructions import INDEX_UNAVAILABLE
from tests.support.gateway_service import RunningGateway, reach_of, running_gateway
from tests.support.held_stores import AwayStore

SKILL = "---\ndescription: Ship it\n---\n1. Test.\n2. Tag."


class LostStore(InMemoryStore):
    """Answers until it is lost."""

    failure: Exception | None = None

    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        self._fail()
        return await super().list_documents(scope, prefix=prefix)

    async def outline(self, scope: str, *, excluding: Sequence[str] = (), newest: int) -> Outline:
        self._fail()
        return await super().outline(scope, excluding=excluding, newest=newest)

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure


async def told(gateway: RunningGateway, **more: Any) -> str:
    text = (await gateway.initialize(**more))["instructions"]
    assert isinstance(text, str)
    return text


async def test_what_was_written_is_told_to_who_begins_afterwards(
    gateway: RunningGateway, store: InMemoryStore
) -> None:
    assert "## /user\n(empty)" in await told(gateway)
    await gateway.call("memory", command="create", path="/user/tea", content="green")
    assert "- /user/tea" in await told(gateway)
    await store.redact("user:ana", path="tea")
    assert "- /user/tea (redacted)" in await told(gateway)


async def test_a_client_is_told_of_its_own_mounts_in_its_own_variant() -> None:
    store = InMemoryStore()
    await store.write("user:ana", "anas", "x")
    await store.write("user:bob", "bobs", "x")
    reaches = {
        "client:ana": reach_of("scope=user:ana,path=user"),
        "client:bob": reach_of("scope=user:bob,path=user", instructions="discipline"),
    }
    async with running_gateway(store, reaches=reaches) as gateway:
        ana, bob = await told(gateway), await told(gateway, token="b0b")
        assert "- /user/anas" in ana
        assert "bobs" not in ana
        assert "search_history" in bob
        assert "- /user/" not in bob


async def test_a_lost_store_degrades_them_and_calls_fail_in_band() -> None:
    store = LostStore()
    async with running_gateway(store) as gateway:
        store.failure = StoreUnavailableError("postgresql://hunter2")
        with capture_logs():
            text = await told(gateway)
            answer = await gateway.call("memory", command="view")
        assert INDEX_UNAVAILABLE in text
        assert "Never store a secret" in text
        assert answer.text == "Tool 'memory' failed: the store is not reachable at the moment"


class TestPrompts:
    async def test_skills_are_listed_live_and_given_whole(self, gateway: RunningGateway) -> None:
        async def listed(token: str) -> list[dict[str, str]]:
            reply = await gateway.request("prompts/list", token=token)
            prompts: list[dict[str, str]] = reply["result"]["prompts"]
            return prompts

        assert [one["name"] for one in await listed("b0b")] == ["handoff"]
        await gateway.call("memory", command="create", path="/user/skills/release", content=SKILL)
        assert (await listed("b0b"))[0] == {"name": "release", "description": "Ship it"}
        for name in ("release", "/user/skills/release"):
            reply = await gateway.request("prompts/get", {"name": name})
            assert reply["result"] == {
                "description": "Ship it",
                "messages": [
                    {"role": "user", "content": {"type": "text", "text": "1. Test.\n2. Tag."}}
                ],
            }

    @pytest.mark.parametrize("name", ["nope", "/nowhere/skills/x", "/user/x", "", "/"])
    async def test_what_is_no_prompt_is_invalid(self, gateway: RunningGateway, name: str) -> None:
        reply = await gateway.request("prompts/get", {"name": name, "arguments": {"a": "b"}})
        assert reply["error"]["code"] == -32602
        assert reply["error"]["message"] == f"Skill {name!r} not found"

    @pytest.mark.parametrize(
        ("method", "params"), [("prompts/list", {}), ("prompts/get", {"name": "release"})]
    )
    async def test_a_store_that_is_away_is_told(self, method: str, params: dict[str, Any]) -> None:
        async with running_gateway(AwayStore()) as gateway:
            with capture_logs() as logs:
                reply = await gateway.request(method, params)
        assert reply["error"] == {
            "code": -32603,
            "message": "The store is not reachable at the moment",
        }
        assert [log["event"] for log in logs] == ["prompts_failed"]

    async def test_what_breaks_is_logged_and_not_told(self) -> None:
        store = LostStore()
        async with running_gateway(store) as gateway:
            store.failure = RuntimeError("postgresql://hunter2")
            with capture_logs() as logs:
                reply = await gateway.request("prompts/list")
            assert reply["error"] == {"code": -32603, "message": "Internal error"}
            assert [log["event"] for log in logs] == ["message_failed"]
            assert "hunter2" not in json.dumps(reply)
