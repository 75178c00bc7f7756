"""What a body must be, route by route (docs/reference/wire.md, section 4)."""

import json
from typing import Any

import pytest

from commonhold_state.routes import ROUTES
from tests.support.goldens.expectations import (
    assert_ok,
    assert_refused,
    assert_value_error,
    decoded,
)
from tests.support.wire_service import Wire

ALL_ROUTES = [route.path.removeprefix("/v1/") for route in ROUTES]

STR, INT, OBJECTS = "a string", "an integer", "a list of objects"

# Every parameter of every route in typing order: name, type, whether it is required.
PARAMETERS: dict[str, list[tuple[str, str, bool]]] = {
    "memory/read": [("scope", STR, True), ("path", STR, True)],
    "memory/write": [
        ("scope", STR, True),
        ("path", STR, True),
        ("content", STR, True),
        ("actor", STR, False),
        ("expected_version", INT, False),
    ],
    "memory/delete": [("scope", STR, True), ("path", STR, True), ("actor", STR, False)],
    "memory/rename": [
        ("scope", STR, True),
        ("src", STR, True),
        ("dst", STR, True),
        ("actor", STR, False),
    ],
    "memory/list_documents": [
        ("scope", STR, True),
        ("prefix", STR, False),
        ("cursor", STR, False),
        ("limit", INT, False),
    ],
    "memory/versions": [
        ("scope", STR, True),
        ("path", STR, True),
        ("cursor", STR, False),
        ("limit", INT, False),
    ],
    "memory/redact": [("scope", STR, True), ("path", STR, False), ("actor", STR, False)],
    "memory/history": [
        ("scope", STR, True),
        ("since", STR, False),
        ("cursor", STR, False),
        ("limit", INT, False),
    ],
    "memory/redactions": [
        ("scope", STR, True),
        ("since", STR, False),
        ("cursor", STR, False),
        ("limit", INT, False),
    ],
    "conversation/append_turn": [
        ("conversation_id", STR, True),
        ("messages", OBJECTS, True),
        ("actor", STR, False),
    ],
    "conversation/read_turns": [
        ("conversation_id", STR, True),
        ("after", INT, False),
        ("limit", INT, False),
    ],
    "conversation/last_turn_number": [("conversation_id", STR, True)],
    "conversation/search_turns": [
        ("limit", INT, False),
        ("query", STR, True),
        ("conversations", "a list of strings", False),
    ],
    "conversation/append_projections": [
        ("conversation_id", STR, True),
        ("entries", OBJECTS, True),
    ],
    "conversation/read_projections": [
        ("conversation_id", STR, True),
        ("after", INT, False),
        ("limit", INT, False),
    ],
    "conversation/redact_turns": [
        ("conversation_id", STR, True),
        ("through", INT, False),
        ("turns", "a list of integers", False),
        ("actor", STR, False),
    ],
    "conversation/turn_redactions": [
        ("limit", INT, False),
        ("conversations", "a list of strings", False),
        ("since", STR, False),
    ],
    "store/scopes": [],
    "store/conversations": [],
    "store/restore_scope": [
        ("scope", STR, True),
        ("documents", OBJECTS, True),
        ("versions", OBJECTS, True),
        ("redactions", OBJECTS, True),
    ],
    "store/restore_conversation": [
        ("conversation_id", STR, True),
        ("turns", OBJECTS, True),
        ("projections", OBJECTS, True),
        ("redactions", OBJECTS, False),
    ],
}

WRONG: dict[str, list[Any]] = {
    STR: [1, 1.5, True, [], {}, ["x"]],
    INT: ["3", 3.0, True, [], {}],
    OBJECTS: ["x", 1, True, {}, [1], [{}, "x"], [None], [[]]],
    "a list of strings": ["x", 1, True, {}, [1], ["a", None], [["a"]]],
    "a list of integers": ["x", 1, True, {}, ["1"], [1, 2.0], [True]],
}
RIGHT: dict[str, Any] = {
    "scope": "u:a",
    "path": "p",
    "src": "p",
    "dst": "q",
    "since": "2026-01-01T00:00:00Z",
    "messages": [{"role": "user", "content": "x"}],
    STR: "x",
    INT: 1,
}


def _right(name: str, kind: str) -> Any:
    return RIGHT.get(name, RIGHT.get(kind, []))


def _upto(route: str, index: int) -> dict[str, Any]:
    """Good values for the parameters before this one."""
    return {name: _right(name, kind) for name, kind, _ in PARAMETERS[route][:index]}


class JsonGoldens:
    """What a body must be before any parameter is looked at; no store is reached."""

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b" ",
            b"{",
            b"nope",
            b"{}x",
            b"{} {}",
            b"{'a':1}",
            b'{"a":1,}',
            b'{"a":01}',
            b'{"a":NaN}',
            b'{"a":Infinity}',
            b'{"a":-Infinity}',
            b'{"a":"\xff"}',
            b'{"a":"\xed\xa0\x80"}',
            b'{"a":"\x01"}',
            b'{"a":"\n"}',
            b'{"a":"\\x"}',
            b'{"a":"\\ud8"}',
            b"\xff\xfe{\x00}\x00",
            b'{"a":' + b"[" * 512 + b"]" * 512 + b"}",
            b'{"a":' + b'{"b":' * 512 + b"1" + b"}" * 513,
            b"[" * 100_000 + b"]" * 100_000,
            b"[" * 100_000,
            b'{"a":"' + b'\\"' * 2000 + b"[{" * 1000,
        ],
    )
    async def test_what_is_no_json_is_refused_on_every_route(self, wire: Wire, body: bytes) -> None:
        for route in ALL_ROUTES:
            assert_refused(await wire.post(route, body), "request body must be JSON")

    @pytest.mark.parametrize("body", ["[]", '"x"', "1", "null", "true", "[{}]", "1.5", "1e400"])
    async def test_what_is_no_object_is_refused_on_every_route(self, wire: Wire, body: str) -> None:
        for route in ALL_ROUTES:
            assert_refused(await wire.post(route, body), "request body must be an object")

    async def test_nesting_of_512_levels_is_read(self, wire: Wire) -> None:
        deep: Any = 1
        for level in range(511):
            deep = [deep] if level % 2 else {"k": deep}
        body = {"scope": "u:a", "path": "p", "ignored": deep}
        assert_ok(await wire.post("memory/read", body), '{"document":null}')

    async def test_many_brackets_side_by_side_are_no_nesting(self, wire: Wire) -> None:
        body = {"scope": "u:a", "path": "p", "ignored": [[{}]] * 5000}
        assert_ok(await wire.post("memory/read", body), '{"document":null}')

    async def test_a_byte_order_mark_is_tolerated(self, wire: Wire) -> None:
        body = b'\xef\xbb\xbf{"scope":"u:a","path":"p"}'
        assert_ok(await wire.post("memory/read", body), '{"document":null}')

    async def test_an_integer_of_4300_digits_is_legal(self, wire: Wire) -> None:
        for digits in ("9" * 4300, "-" + "9" * 4300):
            body = f'{{"scope":"u:a","path":"p","n":{digits}}}'
            assert_ok(await wire.post("memory/read", body), '{"document":null}')

    async def test_headers_about_the_body_are_not_read(self, wire: Wire) -> None:
        for headers in (
            {"content-type": "text/plain"},
            {"content-type": "application/json; charset=utf-16"},
            {"content-encoding": "gzip"},
            {"content-encoding": "deflate"},
            {"accept": "text/html"},
        ):
            answer = await wire.post("memory/read", {"scope": "u:a", "path": "p"}, headers=headers)
            assert_ok(answer, '{"document":null}')


class BodyGoldens:
    """Refusals that store nothing."""

    def test_every_route_has_its_parameters_here(self) -> None:
        assert sorted(PARAMETERS) == sorted(ALL_ROUTES)

    async def test_brackets_inside_strings_are_no_nesting(self, wire: Wire) -> None:
        content = '[{"\\' * 5000
        body = {"scope": "u:a", "path": "p", "content": content}
        answer = decoded(await wire.post("memory/write", body))
        assert answer["document"]["content"] == content

    async def test_of_a_repeated_key_the_last_counts(self, wire: Wire) -> None:
        body = '{"scope":1,"scope":"u:a","path":"p","path":"q","content":"x"}'
        assert decoded(await wire.post("memory/write", body))["document"]["path"] == "q"

    async def test_unknown_keys_and_nulls_are_ignored(self, wire: Wire) -> None:
        body = {
            "scope": "u:a",
            "path": "p",
            "content": "x",
            "actor": None,
            "expected_version": None,
            "extra": {"k": 1},
            "version": 9,
        }
        document = decoded(await wire.post("memory/write", body))["document"]
        assert (document["version"], document["extra"]) == (1, {})

    @pytest.mark.parametrize("route", [name for name in PARAMETERS if PARAMETERS[name]])
    async def test_parameters_are_typed_in_order(self, wire: Wire, route: str) -> None:
        parameters = PARAMETERS[route]
        # The last one is wrong, and so are all before it from the one under test on.
        for index, (name, kind, is_required) in enumerate(parameters):
            after = {other: {"wrong": 1} for other, _, _ in parameters[index + 1 :]}
            for value in WRONG[kind]:
                body = {**after, **_upto(route, index), name: value}
                assert_refused(await wire.post(route, body), f"parameter {name!r} must be {kind}")
            if is_required:
                for body in ({**_upto(route, index)}, {**_upto(route, index), name: None}):
                    assert_refused(await wire.post(route, body), f"missing parameter: {name!r}")
        assert decoded(await wire.post("store/scopes", "{}")) == {"scopes": []}
        assert decoded(await wire.post("store/conversations", "{}")) == {"conversations": []}

    @pytest.mark.parametrize(
        "number", ["1e400", "-1e400", "1" * 4301, "-" + "9" * 5000, "123456e789"]
    )
    async def test_a_number_out_of_range_is_refused_by_name(self, wire: Wire, number: str) -> None:
        for route in ALL_ROUTES:
            body = f'{{"scope":"u:a","path":"p","conversation_id":"c","n":[{{"k":{number}}}]}}'
            assert_value_error(await wire.post(route, body), "'n'", "out of range")

    @pytest.mark.parametrize("text", [r"\ud800", r"a\udfffb", r"\ude00\ud83d", r"\uD83Dx"])
    async def test_a_lone_surrogate_is_refused_by_name(self, wire: Wire, text: str) -> None:
        for route in ALL_ROUTES:
            for value in (f'"{text}"', f'[{{"k":"{text}"}}]', f'{{"{text}":1}}'):
                body = f'{{"scope":"u:a","path":"p","conversation_id":"c","actor":{value}}}'
                assert_value_error(await wire.post(route, body), "'actor'", "surrogate")
        assert decoded(await wire.post("store/scopes", "{}")) == {"scopes": []}
        assert decoded(await wire.post("store/conversations", "{}")) == {"conversations": []}

    async def test_a_surrogate_pair_is_one_character(self, wire: Wire) -> None:
        body = r'{"scope":"u:a","path":"p","content":"\ud83d\ude00"}'
        assert decoded(await wire.post("memory/write", body))["document"]["content"] == "😀"

    @pytest.mark.parametrize(
        ("route", "body", "name"),
        [
            ("memory/write", {"path": "p", "content": "a\x00"}, "content"),
            ("memory/write", {"path": "p", "content": "a", "actor": "\x00"}, "actor"),
            ("memory/delete", {"path": "p", "actor": "\x00"}, "actor"),
            ("memory/rename", {"src": "p", "dst": "q", "actor": "\x00"}, "actor"),
            ("memory/redact", {"actor": "\x00"}, "actor"),
            (
                "conversation/append_turn",
                {"messages": [{"role": "user", "content": "\x00"}]},
                "messages",
            ),
            (
                "conversation/append_turn",
                {"messages": [{"role": "user", "content": [{"type": "text", "text": "\x00"}]}]},
                "messages",
            ),
            (
                "conversation/append_turn",
                {"messages": [{"role": "user", "extra": {"deep": [{"\x00": 1}]}}]},
                "messages",
            ),
            (
                "conversation/append_turn",
                {
                    "messages": [
                        {
                            "role": "assistant",
                            "tool_calls": [{"id": "1", "name": "n", "arguments": {"a": "\x00"}}],
                        }
                    ]
                },
                "messages",
            ),
            (
                "conversation/append_turn",
                {"messages": [{"role": "user", "content": "x"}], "actor": "\x00"},
                "actor",
            ),
            (
                "conversation/append_projections",
                {"entries": [{"turn": 1, "kind": "log", "text": "\x00"}]},
                "text",
            ),
            ("conversation/redact_turns", {"actor": "\x00"}, "actor"),
        ],
    )
    async def test_a_stored_nul_is_refused_by_name(
        self, wire: Wire, route: str, body: dict[str, Any], name: str
    ) -> None:
        named = {"scope": "u:a"} if route.startswith("memory") else {"conversation_id": "c"}
        assert_value_error(await wire.post(route, {**named, **body}), repr(name), "U+0000")
        assert decoded(await wire.post("store/scopes", "{}")) == {"scopes": []}
        assert decoded(await wire.post("store/conversations", "{}")) == {"conversations": []}

    async def test_a_nul_that_is_not_stored_does_no_harm(self, wire: Wire) -> None:
        message = {"role": "user", "content": r"back\u0000slash", "dropped": "\x00"}
        for body in (
            {"conversation_id": "c", "messages": [message], "ignored": "\x00"},
            {"conversation_id": "c", "messages": [{"role": "user", "content": "\\u0000"}]},
        ):
            assert json.loads((await wire.post("conversation/append_turn", body)).body)["turn"]
