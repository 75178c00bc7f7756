"""Archives with one field that is not as it must be: refused by a sentence, or kept whole."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.wire_service import Wire

STAMP = "2026-01-01T00:00:00Z"
SCOPE = {
    "scope": "user:a",
    "documents": [
        {
            "scope": "user:a",
            "path": "p",
            "content": "x",
            "version": 1,
            "created_at": STAMP,
            "updated_at": STAMP,
            "actor": None,
            "redacted": False,
            "extra": {"k": [1, {"z": "y"}]},
        }
    ],
    "versions": [
        {
            "path": "p",
            "version": 1,
            "action": "created",
            "content": "x",
            "actor": "a",
            "created_at": STAMP,
            "redacted": False,
        }
    ],
    "redactions": [{"path": None, "actor": None, "created_at": STAMP, "count": 1}],
}
CONVERSATION = {
    "conversation_id": "c",
    "turns": [
        {
            "conversation_id": "c",
            "turn": 1,
            "messages": [{"role": "user", "content": "hi"}],
            "created_at": STAMP,
            "actor": None,
            "redacted": False,
        }
    ],
    "projections": [{"turn": 1, "kind": "log", "text": "t", "span": 1}],
    "redactions": [{"conversation_id": "c", "turns": [1], "created_at": STAMP, "actor": None}],
}
ABSENT = object()
# Of every type, and at the ends of what columns and stamps hold.
VALUES: tuple[Any, ...] = (
    *(ABSENT, None, True, 0, -1, 2**31, 2**63, 10**400, 1.5, float("inf")),
    *("", "x", "\x00", "\ud800", "x" * 3000, "..", "created", "infinity"),
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-01-01"),
    *([], [None], [1, 1], [2**40], {}, [{}], {"\x00": 1}, {"a": {"b": "\x00"}}),
)
SCOPE_READS = ("list_documents", "history", "redactions")


def places(tree: Any, *above: str | int) -> Iterator[tuple[str | int, ...]]:
    """Every key and index of the tree, as the way to it."""
    steps = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for step, below in steps:
        yield (*above, step)
        if isinstance(below, dict | list):
            yield from places(below, *above, step)


def changed(tree: Any, place: tuple[str | int, ...], value: Any) -> Any:
    whole = copy.deepcopy(tree)
    held = whole
    for step in place[:-1]:
        held = held[step]
    if value is ABSENT:
        del held[place[-1]]
    else:
        held[place[-1]] = value
    return whole


def name_of(place: tuple[str | int, ...]) -> str:
    return ".".join(map(str, place))


class ArchiveGoldens:
    @pytest.mark.parametrize("place", list(places(SCOPE)), ids=name_of)
    async def test_a_scope_is_refused_or_restored_whole(
        self, wire: Wire, place: tuple[str | int, ...]
    ) -> None:
        for number, value in enumerate(VALUES):
            archive = changed(SCOPE, place, value)
            if archive.get("scope") == SCOPE["scope"]:
                archive["scope"] = f"user:a{number}"
            answer = await wire.post("store/restore_scope", json.dumps(archive))
            assert answer.status in {200, 400}, (value, answer.text)
            if answer.status == 200:
                body = {"scope": archive["scope"]}
                for route in SCOPE_READS:
                    assert (await wire.post(f"memory/{route}", body)).status == 200, value
                written = await wire.post("memory/write", {**body, "path": "p", "content": "y"})
                assert written.status == 200, value
        assert (await wire.post("store/scopes", {})).status == 200

    @pytest.mark.parametrize("place", list(places(CONVERSATION)), ids=name_of)
    async def test_a_conversation_is_refused_or_restored_whole(
        self, wire: Wire, place: tuple[str | int, ...]
    ) -> None:
        for number, value in enumerate(VALUES):
            archive = changed(CONVERSATION, place, value)
            if archive.get("conversation_id") == CONVERSATION["conversation_id"]:
                archive["conversation_id"] = f"c{number}"
            answer = await wire.post("store/restore_conversation", json.dumps(archive))
            assert answer.status in {200, 400}, (value, answer.text)
            if answer.status == 200:
                body = {"conversation_id": archive["conversation_id"]}
                for route in ("read_turns", "read_projections"):
                    assert (await wire.post(f"conversation/{route}", body)).status == 200, value
                said = {**body, "messages": [{"role": "user", "content": "y"}]}
                assert (await wire.post("conversation/append_turn", said)).status == 200, value
        assert (await wire.post("conversation/turn_redactions", {})).status == 200
