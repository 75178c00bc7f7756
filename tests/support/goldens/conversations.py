"""The conversation routes, byte for byte (docs/reference/wire.md, section 7)."""

import json
from typing import Any

import pytest

from tests.support.goldens.expectations import (
    assert_ok,
    assert_refused,
    assert_value_error,
    decoded,
)
from tests.support.wire_service import HandClock, Wire

FLAT = "must match [A-Za-z0-9_.-]{1,128} — one flat segment"
USER = {"role": "user", "content": "x"}


async def append(wire: Wire, conversation_id: str, *messages: dict[str, Any]) -> int:
    body = {"conversation_id": conversation_id, "messages": list(messages) or [USER]}
    number: int = decoded(await wire.post("conversation/append_turn", body))["turn"]["turn"]
    return number


class ConversationGoldens:
    """The examples of the reference in their order, then what each route refuses."""

    async def test_the_example_runs_to_the_byte(self, wire: Wire, clock: HandClock) -> None:
        clock.set("2026-11-29T23:50:08.133418+00:00")
        assert_ok(
            await wire.post(
                "conversation/append_turn",
                '{"conversation_id":"conv-42","messages":[{"role":"user","content":"find it"},{"role":"assistant","tool_calls":[{"id":"c1","name":"lookup","arguments":{"query":"sextant"}}]},{"role":"tool","content":"found","tool_call_id":"c1"}],"actor":"me"}',
            ),
            '{"turn":{"conversation_id":"conv-42","turn":1,"messages":[{"role":"user","content":"find it","reasoning":null,"tool_calls":[],"tool_call_id":null},{"role":"assistant","content":null,"reasoning":null,"tool_calls":[{"id":"c1","name":"lookup","arguments":{"query":"sextant"}}],"tool_call_id":null},{"role":"tool","content":"found","reasoning":null,"tool_calls":[],"tool_call_id":"c1"}],"created_at":"2026-11-29T23:50:08.133418Z","actor":"client:default/me","redacted":false}}',
        )
        assert_ok(
            await wire.post("conversation/last_turn_number", '{"conversation_id":"conv-42"}'),
            '{"turn":1}',
        )
        assert_ok(
            await wire.post("conversation/search_turns", '{"query":"zebra","conversations":[]}'),
            '{"turns":[]}',
        )
        assert_ok(
            await wire.post(
                "conversation/append_projections",
                '{"conversation_id":"conv-42","entries":[{"turn":1,"kind":"log","text":"looked up the sextant"}]}',
            ),
            "{}",
        )
        assert_ok(
            await wire.post("conversation/read_projections", '{"conversation_id":"conv-42"}'),
            '{"entries":[{"turn":1,"kind":"log","text":"looked up the sextant","span":1}],"next_after":null}',
        )
        clock.set("2026-11-29T23:50:08.157450+00:00")
        assert_ok(
            await wire.post(
                "conversation/redact_turns",
                '{"conversation_id":"conv-42","turns":[1],"actor":"ops"}',
            ),
            '{"count":1}',
        )
        assert_ok(
            await wire.post("conversation/read_turns", '{"conversation_id":"conv-42"}'),
            '{"turns":[{"conversation_id":"conv-42","turn":1,"messages":[],"created_at":"2026-11-29T23:50:08.133418Z","actor":"client:default/me","redacted":true}],"next_after":null}',
        )
        assert_ok(
            await wire.post("conversation/turn_redactions", '{"conversations":["conv-42"]}'),
            '{"redactions":[{"conversation_id":"conv-42","turns":[1],"actor":"client:default/ops","created_at":"2026-11-29T23:50:08.157450Z"}]}',
        )

    async def test_a_search_answers_whole_turns(self, wire: Wire, clock: HandClock) -> None:
        await append(wire, "c1", {"role": "user", "content": "a Straße here"})
        clock.advance()
        await append(wire, "c2", {"role": "user", "content": "another STRAßE"})
        await append(wire, "c2", {"role": "user", "content": "none"})
        found = decoded(await wire.post("conversation/search_turns", {"query": "straße"}))
        assert [turn["conversation_id"] for turn in found["turns"]] == ["c2", "c1"]
        one = {"query": "straße a", "conversations": ["c1", "c1"], "limit": 1}
        answer = await wire.post("conversation/search_turns", one)
        assert_ok(
            answer,
            '{"turns":[{"conversation_id":"c1","turn":1,"messages":[{"role":"user","content":"a Straße here","reasoning":null,"tool_calls":[],"tool_call_id":null}],"created_at":"2026-11-29T23:50:08.079957Z","actor":"client:default","redacted":false}]}',
        )

    async def test_a_query_with_a_nul_matches_nothing(self, wire: Wire) -> None:
        await append(wire, "c", {"role": "user", "content": "a"})
        answer = await wire.post("conversation/search_turns", {"query": "a \x00"})
        assert_ok(answer, '{"turns":[]}')

    async def test_the_last_number_of_nothing_is_zero(self, wire: Wire) -> None:
        answer = await wire.post("conversation/last_turn_number", {"conversation_id": "c"})
        assert_ok(answer, '{"turn":0}')

    async def test_messages_come_back_verbatim(self, wire: Wire) -> None:
        message = (
            r'{"role":"assistant","content":[{"type":"text","text":"a"},'
            r'{"type":"image","media_type":"image/png","data":"aGk=\n aGk="},'
            r'{"type":"document","url":"","title":"dropped"},'
            r'{"type":"compaction","content":"c"}],"reasoning":"r","tool_calls":[{"id":"","name":"",'
            r'"arguments":{"z":1,"a":[1,2.0,-0.0,1e+22,123456789012345678901234567890,null,true]},"extra":{"g":{"s":"x"}},"type":"function"}],'
            r'"tool_call_id":"","extra":{"k":1},"dropped":1}'
        )
        expected = (
            r'{"role":"assistant","content":[{"type":"text","text":"a"},'
            r'{"type":"image","media_type":"image/png","data":"aGk=aGk=","url":null},'
            r'{"type":"document","media_type":null,"data":null,"url":""},'
            r'{"type":"compaction","content":"c","encrypted_content":null}],"reasoning":"r","tool_calls":[{"id":"","name":"",'
            r'"arguments":{"z":1,"a":[1,2.0,-0.0,1e22,123456789012345678901234567890,null,true]},"extra":{"g":{"s":"x"}}}],'
            r'"tool_call_id":null,"extra":{"k":1}}'
        )
        body = f'{{"conversation_id":"c","messages":[{message}]}}'
        appended = (await wire.post("conversation/append_turn", body)).text
        read = (await wire.post("conversation/read_turns", {"conversation_id": "c"})).text
        found = (await wire.post("conversation/search_turns", {"query": "1e+22"})).text
        for answer in (appended, read, found):
            assert f'"messages":[{expected}]' in answer

    @pytest.mark.parametrize(
        ("message", "refusal"),
        [
            ({}, "malformed request: 'role'"),
            ({"role": "robot"}, "'robot' is not a valid Role"),
            ({"role": None}, "None is not a valid Role"),
            ({"role": 1}, "1 is not a valid Role"),
            (
                {"role": "user", "content": 1},
                "message parameter 'content' must be a string, null or a list of blocks",
            ),
            (
                {"role": "user", "content": {}},
                "message parameter 'content' must be a string, null or a list of blocks",
            ),
            ({"role": "user", "content": ["x"]}, "content block must be an object"),
            ({"role": "user", "content": [{"type": "text"}]}, "malformed request: 'text'"),
            (
                {"role": "user", "content": [{"type": "text", "text": 1}]},
                "content block parameter 'text' must be a string",
            ),
            (
                {"role": "user", "content": [{"type": "audio"}]},
                "Unknown content block type: 'audio'",
            ),
            ({"role": "user", "content": [{}]}, "Unknown content block type: None"),
            ({"role": "user", "content": [{"type": [1]}]}, "Unknown content block type: [1]"),
            (
                {"role": "user", "content": [{"type": "image"}]},
                "ImageBlock requires exactly one of 'data' or 'url'",
            ),
            (
                {"role": "user", "content": [{"type": "document", "data": "a", "url": "b"}]},
                "DocumentBlock requires exactly one of 'data' or 'url'",
            ),
            (
                {"role": "user", "content": [{"type": "image", "data": "a"}]},
                "ImageBlock requires media_type with base64 data",
            ),
            (
                {"role": "user", "content": [{"type": "document", "url": 1}]},
                "content block parameter 'url' must be a string",
            ),
            (
                {"role": "user", "content": [{"type": "compaction", "encrypted_content": 1}]},
                "content block parameter 'encrypted_content' must be a string",
            ),
            (
                {"role": "user", "reasoning": 1},
                "message parameter 'reasoning' must be a string",
            ),
            (
                {"role": "tool", "tool_call_id": 1},
                "message parameter 'tool_call_id' must be a string",
            ),
            (
                {"role": "assistant", "tool_calls": {}},
                "message parameter 'tool_calls' must be a list of objects",
            ),
            (
                {"role": "assistant", "tool_calls": [1]},
                "message parameter 'tool_calls' must be a list of objects",
            ),
            ({"role": "assistant", "tool_calls": [{"name": "n"}]}, "malformed request: 'id'"),
            ({"role": "assistant", "tool_calls": [{"id": "1"}]}, "malformed request: 'name'"),
            (
                {"role": "assistant", "tool_calls": [{"id": 1, "name": "n"}]},
                "tool call parameter 'id' must be a string",
            ),
            (
                {"role": "assistant", "tool_calls": [{"id": "1", "name": "n", "arguments": "{}"}]},
                "tool call parameter 'arguments' must be an object",
            ),
        ],
    )
    async def test_a_malformed_message_is_refused_before_the_id(
        self, wire: Wire, message: dict[str, Any], refusal: str
    ) -> None:
        body = {"conversation_id": "a/b", "messages": [USER, message]}
        assert_refused(await wire.post("conversation/append_turn", body), refusal)

    async def test_an_empty_message_list_is_refused_after_the_id(self, wire: Wire) -> None:
        body = {"conversation_id": "c", "messages": []}
        assert_refused(
            await wire.post("conversation/append_turn", body),
            "a turn must carry at least one message",
        )
        answer = await wire.post("conversation/append_turn", {**body, "conversation_id": "a/b"})
        assert json.loads(answer.body)["error"]["code"] == "agent_conversation_id_invalid"

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("a/b", FLAT),
            ("", FLAT),
            ("a\n", FLAT),
            ("é", FLAT),
            ("a\x00", FLAT),
            ("..", "id '..' is reserved"),
            ("a" * 129, "longer than 128 characters"),
        ],
    )
    async def test_a_bad_id_is_refused_everywhere(self, wire: Wire, name: str, reason: str) -> None:
        for route, body in (
            ("append_turn", {"messages": [USER]}),
            ("read_turns", {"after": -1, "limit": -1}),
            ("last_turn_number", {}),
            ("search_turns", {"query": "x", "conversations": ["ok", name], "limit": 0}),
            ("append_projections", {"entries": []}),
            ("read_projections", {"after": -1}),
            ("redact_turns", {"through": 1, "turns": [1]}),
            ("turn_redactions", {"conversations": [name], "limit": 0}),
        ):
            assert_refused(
                await wire.post(f"conversation/{route}", {"conversation_id": name, **body}),
                f"Invalid conversation id {name!r}: {reason}",
                code="agent_conversation_id_invalid",
                details={"conversation_id": name, "reason": reason},
            )

    async def test_windows_below_zero_are_refused(self, wire: Wire) -> None:
        for route in ("read_turns", "read_projections"):
            for body, message in (
                ({"after": -1, "limit": -1}, "after must be >= 0, got -1"),
                ({"limit": -1}, "limit must be >= 0, got -1"),
                ({"after": -(10**30)}, f"after must be >= 0, got {-(10**30)}"),
            ):
                answer = await wire.post(f"conversation/{route}", {"conversation_id": "c", **body})
                assert_refused(answer, message)

    async def test_windows_beyond_everything_are_empty(self, wire: Wire) -> None:
        await append(wire, "c")
        for after in (1, 2**31 - 1, 2**31, 2**63, 10**4000):
            body = {"conversation_id": "c", "after": after}
            assert_ok(
                await wire.post("conversation/read_turns", body),
                '{"turns":[],"next_after":null}',
            )
            assert_ok(
                await wire.post("conversation/read_projections", body),
                '{"entries":[],"next_after":null}',
            )

    async def test_a_search_is_checked_in_order(self, wire: Wire) -> None:
        route = "conversation/search_turns"
        bad = {"conversations": ["a/b"]}
        many = "a search answers at most 500 turns; narrow the query"
        assert_refused(await wire.post(route, {"limit": 501, **bad}), many)
        assert_refused(await wire.post(route, {"limit": 10**30, "query": " "}), many)
        blank = "query must contain at least one term"
        for query in ("", " \t\u00a0\u2003\x1c"):
            assert_refused(await wire.post(route, {"limit": 0, "query": query, **bad}), blank)
        for limit in (0, -1, -(10**30)):
            assert_refused(
                await wire.post(route, {"limit": limit, "query": "x"}),
                f"limit must be >= 1, got {limit}",
            )
        assert_ok(await wire.post(route, {"limit": 500, "query": "x"}), '{"turns":[]}')

    async def test_the_trail_is_checked_in_order(self, wire: Wire) -> None:
        route = "conversation/turn_redactions"
        many = "the trail answers at most 500 acts; narrow the window"
        assert_refused(await wire.post(route, {"limit": 501, "conversations": 1}), many)
        assert_refused(
            await wire.post(route, {"since": "2026-01-01"}),
            "naive wire timestamp refused: '2026-01-01'",
        )
        assert_refused(await wire.post(route, {"limit": 0}), "limit must be >= 1, got 0")
        assert_ok(await wire.post(route, "{}"), '{"redactions":[]}')
        assert_ok(await wire.post(route, {"conversations": []}), '{"redactions":[]}')

    @pytest.mark.parametrize(
        ("entry", "refusal"),
        [
            ({"span": "1"}, "parameter 'span' must be an integer"),
            ({}, "missing parameter: 'turn'"),
            ({"turn": 1.0}, "parameter 'turn' must be an integer"),
            ({"turn": 1}, "missing parameter: 'kind'"),
            ({"turn": 1, "kind": 1}, "parameter 'kind' must be a string"),
            ({"turn": 1, "kind": "log"}, "missing parameter: 'text'"),
            ({"turn": 1, "kind": "log", "text": []}, "parameter 'text' must be a string"),
            ({"turn": 0, "kind": "foo", "text": ""}, "turn must be >= 1, got 0"),
            (
                {"turn": 1, "kind": "foo", "text": "", "span": 2},
                "span must satisfy 1 <= span <= turn, got span=2 for turn=1",
            ),
            (
                {"turn": 1, "kind": "log", "text": "", "span": 0},
                "span must satisfy 1 <= span <= turn, got span=0 for turn=1",
            ),
            (
                {"turn": 1, "kind": "foo", "text": ""},
                "kind must be one of ['digest', 'epoch', 'log'], got 'foo'",
            ),
        ],
    )
    async def test_one_bad_entry_refuses_the_batch_before_the_id(
        self, wire: Wire, entry: dict[str, Any], refusal: str
    ) -> None:
        good = {"turn": 1, "kind": "log", "text": "t"}
        body = {"conversation_id": "c", "entries": [good, entry]}
        route = "conversation/append_projections"
        assert_refused(await wire.post(route, body), refusal)
        assert_refused(await wire.post(route, {**body, "conversation_id": "a/b"}), refusal)
        assert decoded(await wire.post("store/conversations", "{}")) == {"conversations": []}

    @pytest.mark.parametrize("turn", [2**31, 2**63, 10**40])
    async def test_a_projection_number_beyond_32_bits_is_refused(
        self, wire: Wire, turn: int
    ) -> None:
        entry = {"turn": turn, "kind": "log", "text": "t"}
        body = {"conversation_id": "c", "entries": [entry]}
        assert_value_error(await wire.post("conversation/append_projections", body), "'turn'")

    async def test_no_entries_create_nothing(self, wire: Wire) -> None:
        body: dict[str, Any] = {"conversation_id": "c", "entries": []}
        assert_ok(await wire.post("conversation/append_projections", body), "{}")
        assert decoded(await wire.post("store/conversations", "{}")) == {"conversations": []}

    async def test_redacting_is_selective_and_strict(self, wire: Wire) -> None:
        for _ in range(4):
            await append(wire, "c")
        route = "conversation/redact_turns"
        refused: list[tuple[dict[str, Any], str]] = [
            ({"through": 1, "turns": [1]}, "give through= or turns=, not both"),
            ({"through": 0}, "through must be >= 1, got 0"),
            ({"turns": [2, -3, 0]}, "turn numbers start at 1, got -3"),
        ]
        for selector, message in refused:
            assert_refused(await wire.post(route, {"conversation_id": "c", **selector}), message)
        counted: list[tuple[dict[str, Any], int]] = [
            ({"turns": []}, 0),
            ({"turns": [2, 2, 99, 2**31, 10**30]}, 1),
            ({"through": 3}, 3),
            ({"through": 10**30}, 4),
            ({}, 4),
            ({"through": None, "turns": None}, 4),
        ]
        for selector, count in counted:
            answer = await wire.post(route, {"conversation_id": "c", **selector})
            assert_ok(answer, f'{{"count":{count}}}')

    async def test_projections_and_restores_carry_no_client(self, wire: Wire) -> None:
        entry = {"turn": 1, "kind": "log", "text": "t", "actor": "me"}
        await wire.post(
            "conversation/append_projections",
            {"conversation_id": "c", "entries": [entry], "actor": 5},
        )
        read = await wire.post("conversation/read_projections", {"conversation_id": "c"})
        assert decoded(read)["entries"] == [{"turn": 1, "kind": "log", "text": "t", "span": 1}]
