"""Idempotency keys over HTTP (docs/reference/wire.md, section 14)."""

import json
from typing import Any

import pytest

from commonhold_state.routes import ROUTES
from tests.support.goldens.expectations import assert_refused, assert_value_error, decoded
from tests.support.wire_service import HandClock, Wire

MUTATIONS: dict[str, dict[str, Any]] = {
    "memory/write": {"scope": "u:a", "path": "p", "content": "x"},
    "memory/delete": {"scope": "u:a", "path": "p"},
    "memory/rename": {"scope": "u:a", "src": "p", "dst": "q"},
    "memory/redact": {"scope": "u:a"},
    "conversation/append_turn": {
        "conversation_id": "c",
        "messages": [{"role": "user", "content": "x"}],
    },
    "conversation/append_projections": {
        "conversation_id": "c",
        "entries": [{"turn": 1, "kind": "log", "text": "t"}],
    },
    "conversation/redact_turns": {"conversation_id": "c"},
    "store/restore_scope": {
        "scope": "u:new",
        "documents": [],
        "versions": [],
        "redactions": [
            {"path": None, "actor": None, "created_at": "2026-01-01T00:00:00Z", "count": 1}
        ],
    },
    "store/restore_conversation": {
        "conversation_id": "new",
        "turns": [
            {
                "conversation_id": "new",
                "turn": 1,
                "messages": [{"role": "user", "content": "x"}],
                "created_at": "2026-01-01T00:00:00Z",
            }
        ],
        "projections": [],
    },
}


def keyed(key: str) -> dict[str, str]:
    return {"idempotency-key": key}


async def seed(wire: Wire) -> None:
    await wire.post("memory/write", MUTATIONS["memory/write"])
    await wire.post("conversation/append_turn", MUTATIONS["conversation/append_turn"])


class IdempotencyGoldens:
    """Once is once, on every route that changes something."""

    def test_every_mutating_route_is_tried(self) -> None:
        assert {f"/v1/{route}" for route in MUTATIONS} == {
            route.path for route in ROUTES if route.mutates
        }

    @pytest.mark.parametrize("route", list(MUTATIONS))
    async def test_a_repeated_request_changes_nothing_and_answers_alike(
        self, wire: Wire, clock: HandClock, route: str
    ) -> None:
        await seed(wire)
        clock.advance()
        body = MUTATIONS[route]
        first = await wire.post(route, body, headers=keyed("k-1"))
        assert first.status == 200, first.text
        before = await self._everything(wire)
        clock.advance()
        again = await wire.post(route, body, headers=keyed("k-1"))
        assert (again.status, again.text) == (200, first.text)
        assert await self._everything(wire) == before

    async def test_another_body_or_route_under_the_key_is_refused(self, wire: Wire) -> None:
        body = MUTATIONS["memory/write"]
        await wire.post("memory/write", body, headers=keyed("k"))
        message = "idempotency key was used for another request"
        for route, other in (
            ("memory/write", {**body, "content": "y"}),
            ("memory/delete", body),
            ("conversation/append_turn", MUTATIONS["conversation/append_turn"]),
        ):
            assert_refused(await wire.post(route, other, headers=keyed("k")), message)
        read = decoded(await wire.post("memory/read", {"scope": "u:a", "path": "p"}))
        assert read["document"]["version"] == 1

    async def test_a_replay_shows_the_version_it_made(self, wire: Wire) -> None:
        body = MUTATIONS["memory/write"]
        first = await wire.post("memory/write", body, headers=keyed("k"))
        await wire.post("memory/write", {**body, "content": "another writer's"})
        again = await wire.post("memory/write", body, headers=keyed("k"))
        assert again.text == first.text

    async def test_after_a_redaction_a_replay_is_empty_for_any_body(self, wire: Wire) -> None:
        body = {**MUTATIONS["memory/write"], "content": "secret"}
        await wire.post("memory/write", body, headers=keyed("k"))
        await wire.post("memory/redact", {"scope": "u:a"})
        for content in ("secret", "a guess"):
            again = await wire.post(
                "memory/write", {**body, "content": content}, headers=keyed("k")
            )
            document = decoded(again)["document"]
            assert (document["content"], document["redacted"]) == ("", True)
            assert document["version"] == 1

    async def test_a_refusal_leaves_the_key_free(self, wire: Wire) -> None:
        body = {**MUTATIONS["memory/write"], "expected_version": 1}
        refused = await wire.post("memory/write", body, headers=keyed("k"))
        assert json.loads(refused.body)["error"]["code"] == "memory_conflict"
        await wire.post("memory/write", MUTATIONS["memory/write"])
        again = await wire.post("memory/write", body, headers=keyed("k"))
        assert decoded(again)["document"]["version"] == 2

    @pytest.mark.parametrize("key", ["", "a b", "é", "a\tb", "x" * 256])
    async def test_a_bad_key_is_refused_and_nothing_happens(self, wire: Wire, key: str) -> None:
        for route, body in MUTATIONS.items():
            assert_value_error(await wire.post(route, body, headers=keyed(key)))
        assert decoded(await wire.post("store/scopes", "{}")) == {"scopes": []}
        assert decoded(await wire.post("store/conversations", "{}")) == {"conversations": []}

    async def test_keys_of_255_characters_are_told_apart(self, wire: Wire) -> None:
        body = MUTATIONS["memory/write"]
        for index, key in enumerate(("~" * 255, "~" * 254 + "!", "!"), start=1):
            answer = await wire.post("memory/write", body, headers=keyed(key))
            assert decoded(answer)["document"]["version"] == index

    async def test_a_read_ignores_the_header(self, wire: Wire) -> None:
        for key in ("", "k"):
            answer = await wire.post(
                "memory/read", {"scope": "u:a", "path": "p"}, headers=keyed(key)
            )
            assert answer.status == 200

    async def test_without_a_key_a_repeat_is_a_second_time(self, wire: Wire) -> None:
        for version in (1, 2):
            answer = await wire.post("memory/write", MUTATIONS["memory/write"])
            assert decoded(answer)["document"]["version"] == version

    @staticmethod
    async def _everything(wire: Wire) -> list[str]:
        asked = [
            ("memory/history", {"scope": "u:a"}),
            ("memory/redactions", {"scope": "u:a"}),
            ("memory/redactions", {"scope": "u:new"}),
            ("memory/list_documents", {"scope": "u:a"}),
            ("conversation/read_turns", {"conversation_id": "c"}),
            ("conversation/read_turns", {"conversation_id": "new"}),
            ("conversation/read_projections", {"conversation_id": "c"}),
            ("conversation/turn_redactions", {}),
        ]
        return [(await wire.post(route, body)).text for route, body in asked]
