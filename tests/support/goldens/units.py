"""The store routes (docs/reference/wire.md, section 8)."""

import json
from typing import Any

import pytest

from tests.support.goldens.expectations import (
    assert_ok,
    assert_refused,
    assert_value_error,
    decoded,
)
from tests.support.wire_service import Wire

AT = "2026-01-01T00:00:00Z"
BIG = 2**31


def document(**changes: Any) -> dict[str, Any]:
    row = {
        "scope": "ignored",
        "path": "p",
        "content": "x",
        "version": 2,
        "created_at": AT,
        "updated_at": AT,
        "actor": None,
        "redacted": False,
    }
    return _changed(row, changes)


def version(**changes: Any) -> dict[str, Any]:
    row = {
        "path": "p",
        "version": 1,
        "action": "created",
        "content": "x",
        "actor": "a",
        "created_at": AT,
        "redacted": False,
    }
    return _changed(row, changes)


def redaction(**changes: Any) -> dict[str, Any]:
    return _changed({"path": None, "actor": None, "created_at": AT, "count": 1}, changes)


def turn(**changes: Any) -> dict[str, Any]:
    row = {
        "conversation_id": "ignored",
        "turn": 1,
        "messages": [{"role": "user", "content": "x"}],
        "created_at": AT,
    }
    return _changed(row, changes)


def projection(**changes: Any) -> dict[str, Any]:
    return _changed({"turn": 1, "kind": "log", "text": "t"}, changes)


def turn_redaction(**changes: Any) -> dict[str, Any]:
    return _changed({"turns": [1], "conversation_id": "ignored", "created_at": AT}, changes)


def _changed(row: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The row with changes; `...` takes a key away."""
    merged = {**row, **changes}
    return {key: value for key, value in merged.items() if value is not ...}


def scope_archive(
    *rows: dict[str, Any], key: str = "documents", scope: str = "u:a"
) -> dict[str, Any]:
    empty: dict[str, Any] = {"scope": scope, "documents": [], "versions": [], "redactions": []}
    return {**empty, key: list(rows)}


def conversation_archive(
    *rows: dict[str, Any], key: str = "turns", name: str = "c"
) -> dict[str, Any]:
    empty: dict[str, Any] = {"conversation_id": name, "turns": [], "projections": []}
    return {**empty, key: list(rows)}


SCOPE, CONVERSATION = "store/restore_scope", "store/restore_conversation"

# Row makers with, for each key in decode order, the values of a wrong type and the message.
TEXT = ([1, True, [], {}, None], "a string")
NULLABLE_TEXT = ([1, True, [], {}], "a string")
WHOLE = (["1", 1.0, True, None, []], "an integer")
TRUTH = ([0, "no", None, []], "a boolean")
ROWS: dict[str, tuple[Any, str, dict[str, tuple[list[Any], str]]]] = {
    "document": (
        document,
        "documents",
        {
            "scope": TEXT,
            "path": TEXT,
            "content": TEXT,
            "version": WHOLE,
            "created_at": ([], ""),
            "updated_at": ([], ""),
            "actor": NULLABLE_TEXT,
            "redacted": TRUTH,
        },
    ),
    "version": (
        version,
        "versions",
        {
            "path": TEXT,
            "version": WHOLE,
            "action": TEXT,
            "content": TEXT,
            "actor": NULLABLE_TEXT,
            "created_at": ([], ""),
            "redacted": TRUTH,
        },
    ),
    "redaction": (
        redaction,
        "redactions",
        {
            "path": NULLABLE_TEXT,
            "actor": NULLABLE_TEXT,
            "created_at": ([], ""),
            "count": WHOLE,
        },
    ),
    "turn": (
        turn,
        "turns",
        {
            "conversation_id": TEXT,
            "turn": WHOLE,
            "messages": ([1, "x", {}, None, [1], [[]]], "a list of objects"),
            "created_at": ([], ""),
        },
    ),
}


def restore_of(kind: str, row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if kind == "turn":
        return CONVERSATION, conversation_archive(row)
    return SCOPE, scope_archive(row, key=ROWS[kind][1])


async def assert_nothing_landed(wire: Wire) -> None:
    assert decoded(await wire.post("store/scopes", "{}")) == {"scopes": []}
    assert decoded(await wire.post("store/conversations", "{}")) == {"conversations": []}


class UnitGoldens:
    """Archives as they land, and everything that is refused."""

    async def test_the_conversation_example_runs_to_the_byte(self, wire: Wire) -> None:
        assert_ok(
            await wire.post(
                CONVERSATION,
                '{"conversation_id":"rc1","turns":[{"conversation_id":"rc1","turn":1,"messages":[{"role":"user","content":"hello Zog"}],"created_at":"2026-01-01T00:00:00+01:00","actor":"conv:x"},{"conversation_id":"rc1","turn":2,"messages":[],"created_at":"2026-01-01T00:00:00+01:00","actor":"conv:x","redacted":true}],"projections":[{"turn":1,"kind":"log","text":"t"}],"redactions":[{"conversation_id":"rc1","turns":[2],"actor":"op:x","created_at":"2026-01-05T00:00:00Z"}]}',
            ),
            "{}",
        )
        assert_ok(
            await wire.post("conversation/read_turns", '{"conversation_id":"rc1"}'),
            '{"turns":[{"conversation_id":"rc1","turn":1,"messages":[{"role":"user","content":"hello Zog","reasoning":null,"tool_calls":[],"tool_call_id":null}],"created_at":"2025-12-31T23:00:00Z","actor":"conv:x","redacted":false},{"conversation_id":"rc1","turn":2,"messages":[],"created_at":"2025-12-31T23:00:00Z","actor":"conv:x","redacted":true}],"next_after":null}',
        )
        assert_ok(
            await wire.post("conversation/turn_redactions", "{}"),
            '{"redactions":[{"conversation_id":"rc1","turns":[2],"actor":"op:x","created_at":"2026-01-05T00:00:00Z"}]}',
        )
        assert_ok(
            await wire.post("conversation/read_projections", '{"conversation_id":"rc1"}'),
            '{"entries":[{"turn":1,"kind":"log","text":"t","span":1}],"next_after":null}',
        )
        found = decoded(await wire.post("conversation/search_turns", {"query": "ZOG"}))
        assert [row["turn"] for row in found["turns"]] == [1]

    async def test_a_scope_lands_verbatim(self, wire: Wire) -> None:
        row = document(version=7, actor="w", extra={"z": 1, "a": [1.0, {"é": None}]})
        body = {
            **scope_archive(row),
            "versions": [version(version=9, action="deleted"), version(version=3, path="gone")],
            "redactions": [redaction(count=2), redaction(path="p", actor="ops", count=0)],
        }
        assert_ok(await wire.post(SCOPE, body), "{}")
        assert_ok(
            await wire.post("memory/read", {"scope": "u:a", "path": "p"}),
            f'{{"document":{{"scope":"u:a","path":"p","content":"x","version":7,"created_at":"{AT}","updated_at":"{AT}","actor":"w","redacted":false,"extra":{{"z":1,"a":[1.0,{{"é":null}}]}}}}}}',
        )
        history = decoded(await wire.post("memory/history", {"scope": "u:a"}))["versions"]
        assert [(row["path"], row["version"]) for row in history] == [("gone", 3), ("p", 9)]
        trail = decoded(await wire.post("memory/redactions", {"scope": "u:a"}))["redactions"]
        assert [(act["path"], act["actor"]) for act in trail] == [("p", "ops"), (None, None)]
        written = {"scope": "u:a", "path": "p", "content": "new"}
        again = decoded(await wire.post("memory/write", written))["document"]
        assert (again["version"], again["extra"]) == (10, {"z": 1, "a": [1.0, {"é": None}]})

    async def test_units_are_listed_sorted(self, wire: Wire) -> None:
        for scope in ("user:b", "user:a/proj:x", "user:B", "user:a"):
            await wire.post("memory/write", {"scope": scope, "path": "p", "content": ""})
        for name in ("c-2", "c.1", "C", "c-1"):
            await wire.post(CONVERSATION, conversation_archive(turn(), name=name))
        assert_ok(
            await wire.post("store/scopes", '{"ignored":1}'),
            '{"scopes":["user:B","user:a","user:a/proj:x","user:b"]}',
        )
        assert_ok(
            await wire.post("store/conversations", "{}"),
            '{"conversations":["C","c-1","c-2","c.1"]}',
        )

    @pytest.mark.parametrize("kind", list(ROWS))
    async def test_rows_are_typed_key_by_key(self, wire: Wire, kind: str) -> None:
        make, _, keys = ROWS[kind]
        names = list(keys)
        for index, (key, (wrong, expected)) in enumerate(keys.items()):
            # Whatever comes after the key under test is wrong too, and must not be heard of.
            later = dict.fromkeys(names[index + 1 :], ...)
            route, body = restore_of(kind, make(**{key: ..., **later}))
            assert_refused(await wire.post(route, body), f"malformed request: {key!r}")
            for value in wrong:
                route, body = restore_of(kind, make(**{key: value, **later}))
                assert_refused(
                    await wire.post(route, body), f"parameter {key!r} must be {expected}"
                )
            if key.endswith("_at"):
                for stamp, message in (
                    (5, "malformed wire timestamp: 5"),
                    (None, "malformed wire timestamp: None"),
                    ("x", "Invalid isoformat string: 'x'"),
                    ("2026-01-01", "naive wire timestamp refused: '2026-01-01'"),
                ):
                    route, body = restore_of(kind, make(**{key: stamp, **later}))
                    assert_refused(await wire.post(route, body), message)
        await assert_nothing_landed(wire)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            (projection(turn=...), "missing parameter: 'turn'"),
            (projection(kind=None), "missing parameter: 'kind'"),
            (projection(text=...), "missing parameter: 'text'"),
            (projection(turn="1"), "parameter 'turn' must be an integer"),
            (projection(span=2), "span must satisfy 1 <= span <= turn, got span=2 for turn=1"),
        ],
    )
    async def test_projections_are_typed(
        self, wire: Wire, row: dict[str, Any], message: str
    ) -> None:
        body = conversation_archive(row, key="projections")
        assert_refused(await wire.post(CONVERSATION, body), message)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            *(
                (turn_redaction(turns=value), "parameter 'turns' must name turn numbers from 1")
                for value in (..., None, [], [0], [1, -1], ["1"], [True], [1.0], 1, "1")
            ),
            (turn_redaction(conversation_id=...), "missing parameter: 'conversation_id'"),
            (turn_redaction(conversation_id=1), "parameter 'conversation_id' must be a string"),
            (turn_redaction(created_at=...), "malformed request: 'created_at'"),
            (turn_redaction(created_at=5), "malformed wire timestamp: 5"),
            (turn_redaction(actor=5), "parameter 'actor' must be a string"),
        ],
    )
    async def test_trail_rows_are_typed(
        self, wire: Wire, row: dict[str, Any], message: str
    ) -> None:
        body = conversation_archive(row, key="redactions")
        assert_refused(await wire.post(CONVERSATION, body), message)
        await assert_nothing_landed(wire)

    @pytest.mark.parametrize(
        ("route", "body"),
        [
            (SCOPE, scope_archive(document(version=0))),
            (SCOPE, scope_archive(document(version=BIG))),
            (SCOPE, scope_archive(document(version=10**30))),
            (SCOPE, scope_archive(version(version=0), key="versions")),
            (SCOPE, scope_archive(version(version=BIG), key="versions")),
            (SCOPE, scope_archive(version(action="renamed"), key="versions")),
            (SCOPE, scope_archive(redaction(count=-1), key="redactions")),
            (SCOPE, scope_archive(redaction(count=BIG), key="redactions")),
            (SCOPE, scope_archive(document(redacted=True))),
            (SCOPE, scope_archive(version(redacted=True), key="versions")),
            (SCOPE, scope_archive(document(), document(content="y"))),
            (SCOPE, scope_archive(version(), version(), key="versions")),
            (SCOPE, scope_archive(document(extra=[]))),
            (SCOPE, scope_archive(document(extra="x"))),
            (SCOPE, scope_archive(document(content="\x00"))),
            (SCOPE, scope_archive(document(actor="\x00"))),
            (SCOPE, scope_archive(document(extra={"a": ["\x00"]}))),
            (SCOPE, scope_archive(version(content="\x00"), key="versions")),
            (SCOPE, scope_archive(version(actor="\x00"), key="versions")),
            (SCOPE, scope_archive(redaction(actor="\x00"), key="redactions")),
            (CONVERSATION, conversation_archive(turn(turn=0))),
            (CONVERSATION, conversation_archive(turn(turn=BIG))),
            (CONVERSATION, conversation_archive(turn(messages=[]))),
            (CONVERSATION, conversation_archive(turn(redacted=True))),
            (CONVERSATION, conversation_archive(turn(), turn())),
            (CONVERSATION, conversation_archive(turn(redacted="no"))),
            (CONVERSATION, conversation_archive(turn(actor=1))),
            (CONVERSATION, conversation_archive(turn(actor="\x00"))),
            (
                CONVERSATION,
                conversation_archive(turn(messages=[{"role": "user", "content": "\x00"}])),
            ),
            (CONVERSATION, conversation_archive(projection(turn=BIG), key="projections")),
            (CONVERSATION, conversation_archive(projection(text="\x00"), key="projections")),
            (CONVERSATION, conversation_archive(turn_redaction(turns=[BIG]), key="redactions")),
            (CONVERSATION, conversation_archive(turn_redaction(actor="\x00"), key="redactions")),
        ],
    )
    async def test_a_bad_value_refuses_the_unit(
        self, wire: Wire, route: str, body: dict[str, Any]
    ) -> None:
        assert_value_error(await wire.post(route, body))
        await assert_nothing_landed(wire)

    async def test_names_inside_are_checked_after_the_types(self, wire: Wire) -> None:
        for key, row in (
            ("documents", document(path="a//b")),
            ("versions", version(path="a//b")),
            ("redactions", redaction(path="a//b")),
        ):
            answer = await wire.post(SCOPE, scope_archive(row, key=key))
            assert json.loads(answer.body)["error"]["code"] == "memory_path_invalid"
            answer = await wire.post(SCOPE, scope_archive(row, key=key, scope="ZZ"))
            assert json.loads(answer.body)["error"]["code"] == "memory_scope_invalid"
        answer = await wire.post(CONVERSATION, conversation_archive(turn(), name="a/b"))
        assert json.loads(answer.body)["error"]["code"] == "agent_conversation_id_invalid"
        await assert_nothing_landed(wire)

    async def test_lists_are_decoded_one_after_another(self, wire: Wire) -> None:
        body = {**scope_archive(document(path=1)), "versions": 5, "scope": "ZZ"}
        assert_refused(await wire.post(SCOPE, body), "parameter 'path' must be a string")

    async def test_an_occupied_target_is_refused_even_for_nothing(self, wire: Wire) -> None:
        await wire.post("memory/write", {"scope": "user:ok8", "path": "p", "content": ""})
        await wire.post(CONVERSATION, conversation_archive(turn(), name="rc1"))
        for archive in (
            scope_archive(scope="user:ok8"),
            scope_archive(document(), scope="user:ok8"),
        ):
            assert_refused(
                await wire.post(SCOPE, archive),
                "Memory conflict in scope 'user:ok8': target_occupied",
                code="memory_conflict",
                details={
                    "scope": "user:ok8",
                    "path": None,
                    "reason": "target_occupied",
                    "expected_version": None,
                    "actual_version": None,
                },
            )
        assert_refused(
            await wire.post(CONVERSATION, conversation_archive(name="rc1")),
            "Conversation conflict on 'rc1': target_occupied",
            code="agent_conversation_conflict",
            details={"conversation_id": "rc1", "reason": "target_occupied"},
        )

    async def test_an_empty_archive_creates_nothing(self, wire: Wire) -> None:
        assert_ok(await wire.post(SCOPE, scope_archive()), "{}")
        body = {**conversation_archive(), "redactions": None}
        assert_ok(await wire.post(CONVERSATION, body), "{}")
        await assert_nothing_landed(wire)

    async def test_turns_land_by_number_with_gaps(self, wire: Wire) -> None:
        body = conversation_archive(turn(turn=9), turn(turn=4, redacted=None, actor="a"))
        assert_ok(await wire.post(CONVERSATION, body), "{}")
        read = decoded(await wire.post("conversation/read_turns", {"conversation_id": "c"}))
        assert [row["turn"] for row in read["turns"]] == [4, 9]
        more = {"conversation_id": "c", "messages": [{"role": "user", "content": "x"}]}
        appended = decoded(await wire.post("conversation/append_turn", more))
        assert appended["turn"]["turn"] == 10

    async def test_a_trail_alone_lands_sorted_and_occupies(self, wire: Wire) -> None:
        body = conversation_archive(turn_redaction(turns=[3, 1, 3]), key="redactions")
        assert_ok(await wire.post(CONVERSATION, body), "{}")
        trail = decoded(await wire.post("conversation/turn_redactions", "{}"))["redactions"]
        assert trail == [{"conversation_id": "c", "turns": [1, 3], "actor": None, "created_at": AT}]
        answer = await wire.post(CONVERSATION, conversation_archive())
        assert "target_occupied" in answer.text
