"""Turns of a conversation (docs/reference/stores.md, sections 5 and 6; wire.md, section 7)."""

import asyncio
import json
from typing import Any

from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import BAD_CONVERSATION_IDS, HUGE_NUMBERS
from commonhold.conformance.wire.trials import Row, Trial

TURN = ["conversation_id", "turn", "messages", "created_at", "actor", "redacted"]
APPENDERS = 12
# As sent, and as they come back: defaults filled in, unknown keys gone.
MESSAGES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    (
        {"role": "user", "content": "hello"},
        {"content": "hello"},
    ),
    (
        {"role": "assistant", "reasoning": "because", "unknown": 1},
        {"role": "assistant", "reasoning": "because"},
    ),
    (
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "name": "n", "arguments": {"q": "x"}, "type": "function"}],
            "extra": {"k": 1},
        },
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "name": "n", "arguments": {"q": "x"}}],
            "extra": {"k": 1},
        },
    ),
    (
        {"role": "tool", "content": "---\r\n\N{GRINNING FACE}", "tool_call_id": "c1"},
        {"role": "tool", "content": "---\r\n\N{GRINNING FACE}", "tool_call_id": "c1"},
    ),
    (
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see", "cache_control": {}},
                {"type": "image", "url": "https://e.test/i"},
                {"type": "document", "media_type": "text/plain", "data": "aG\nk="},
                {"type": "compaction", "content": "so far"},
            ],
        },
        {
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image", "media_type": None, "data": None, "url": "https://e.test/i"},
                {"type": "document", "media_type": "text/plain", "data": "aGk=", "url": None},
                {"type": "compaction", "content": "so far", "encrypted_content": None},
            ]
        },
    ),
    ({"role": "user", "content": []}, {"content": []}),
)
EMPTY: Row = {
    "role": "user",
    "content": None,
    "reasoning": None,
    "tool_calls": [],
    "tool_call_id": None,
}
# Key order, number types and integers of any size, as a client may send them.
NUMBERS = (
    '{"zz":1,"a":{"y":1,"bb":2,"a":3},"e":-0.0,"g":1.0,"h":1,"i":0.1,'
    '"j":9007199254740993,"k":18446744073709551616,"o":[1,1.0,true,null]}'
)
MALFORMED: tuple[tuple[Any, str], ...] = (
    ({}, "malformed request: 'role'"),
    ({"role": "robot"}, "'robot' is not a valid Role"),
    ({"role": None}, "None is not a valid Role"),
    (
        {"role": "user", "content": 5},
        "message parameter 'content' must be a string, null or a list of blocks",
    ),
    ({"role": "user", "content": ["x"]}, "content block must be an object"),
    ({"role": "user", "content": [{"type": "text"}]}, "malformed request: 'text'"),
    ({"role": "user", "content": [{"type": "audio"}]}, "Unknown content block type: 'audio'"),
    (
        {"role": "user", "content": [{"type": "image"}]},
        "ImageBlock requires exactly one of 'data' or 'url'",
    ),
    (
        {"role": "user", "content": [{"type": "document", "data": "aGk="}]},
        "DocumentBlock requires media_type with base64 data",
    ),
    (
        {"role": "assistant", "tool_calls": {}},
        "message parameter 'tool_calls' must be a list of objects",
    ),
    ({"role": "assistant", "tool_calls": [{"id": "1"}]}, "malformed request: 'name'"),
    (
        {"role": "assistant", "tool_calls": [{"id": "1", "name": "n", "arguments": "x"}]},
        "tool call parameter 'arguments' must be an object",
    ),
    ({"role": "user", "reasoning": 5}, "message parameter 'reasoning' must be a string"),
)


class TurnCases:
    title = "conversation"

    @staticmethod
    async def a_new_conversation_is_empty(trial: Trial) -> None:
        rule = Rule("5", "an unknown conversation is empty, and its last number is 0")
        name = {"conversation_id": trial.thread}
        turns = await trial.ok("conversation/read_turns", **name)
        rule.equal(turns, {"turns": [], "next_after": None})
        entries = await trial.ok("conversation/read_projections", **name)
        rule.equal(entries, {"entries": [], "next_after": None})
        rule.equal(await trial.ok("conversation/last_turn_number", **name), {"turn": 0})

    @staticmethod
    async def an_append_is_answered_and_visible_at_once(trial: Trial) -> None:
        rule = Rule("5", "append_turn returns the turn that read_turns answers")
        (made,) = await trial.append("hello", actor="me")
        rule.equal(list(made), TURN)
        expected = {
            "conversation_id": trial.thread,
            "turn": 1,
            "messages": [{**EMPTY, "content": "hello"}],
            "created_at": made["created_at"],
            "actor": trial.recorded("me"),
            "redacted": False,
        }
        rule.equal(made, expected)
        rule.equal(await trial.turns(), [expected])

    @staticmethod
    async def numbers_start_at_one_without_gaps(trial: Trial) -> None:
        rule = Rule("5", "turn numbers start at 1 and have no gaps")
        made = await trial.append(*(str(number) for number in range(12)))
        rule.equal([turn["turn"] for turn in made], list(range(1, 13)))
        last = await trial.ok("conversation/last_turn_number", conversation_id=trial.thread)
        rule.equal(last, {"turn": 12})

    @staticmethod
    async def messages_come_back_in_their_full_form(trial: Trial) -> None:
        rule = Rule("6", "messages are stored verbatim, and encoded with every key")
        sent = [given for given, _ in MESSAGES]
        body = {"conversation_id": trial.thread, "messages": sent}
        made = (await trial.ok("conversation/append_turn", **body))["turn"]
        (read,) = await trial.turns()
        expected = [{**EMPTY, **full} for _, full in MESSAGES]
        for turn in (made, read):
            rule.equal(turn["messages"], expected)
            rule.equal([list(message) for message in turn["messages"]], [list(m) for m in expected])

    @staticmethod
    async def arguments_keep_key_order_and_number_types(trial: Trial) -> None:
        rule = Rule("6", "arguments and extra keep key order; integers are exact, floats floats")
        body = (
            f'{{"conversation_id":"{trial.thread}","messages":[{{"role":"assistant","tool_calls":'
            f'[{{"id":"1","name":"n","arguments":{NUMBERS},"extra":{NUMBERS}}}],"extra":{NUMBERS}}}]}}'
        )
        await trial.post("conversation/append_turn", body.encode())
        (read,) = await trial.turns()
        message = read["messages"][0]
        call = message["tool_calls"][0]
        for value in (call["arguments"], call["extra"], message["extra"]):
            # Text tells what equality forgives: key order, 1 and 1.0, 0.0 and -0.0.
            rule.equal(repr(value), repr(json.loads(NUMBERS)))

    @staticmethod
    async def a_malformed_message_is_refused_whole(trial: Trial) -> None:
        rule = Rule("6", "a message that is none is refused with what is wrong")
        for message, text in MALFORMED:
            body = {
                "conversation_id": trial.thread,
                "messages": [{"role": "user", "content": "fine"}, message],
            }
            await trial.refused("conversation/append_turn", body, code="value_error", message=text)
        rule.equal(await trial.turns(), [])

    @staticmethod
    async def an_empty_message_list_is_refused(trial: Trial) -> None:
        rule = Rule("5", "a turn carries at least one message")
        await trial.refused(
            "conversation/append_turn",
            {"conversation_id": trial.thread, "messages": []},
            code="value_error",
            message="a turn must carry at least one message",
        )
        rule.equal((await trial.append("x"))[0]["turn"], 1)

    @staticmethod
    async def after_is_exclusive_and_a_limit_keeps_the_oldest(trial: Trial) -> None:
        rule = Rule("5", "turns numbered above `after`, ascending; `limit` keeps the oldest")
        await trial.append("1", "2", "3", "4")
        for options, expected in (
            ({}, [1, 2, 3, 4]),
            ({"after": 1}, [2, 3, 4]),
            ({"after": 4}, []),
            ({"limit": 2}, [1, 2]),
            ({"limit": 0}, []),
            ({"after": 1, "limit": 2}, [2, 3]),
            *(({"after": number}, []) for number in HUGE_NUMBERS),
            *(({"limit": number}, [1, 2, 3, 4]) for number in HUGE_NUMBERS),
        ):
            found = await trial.ok(
                "conversation/read_turns", conversation_id=trial.thread, **options
            )
            rule.equal((options, [turn["turn"] for turn in found["turns"]]), (options, expected))
            rule.equal((options, found["next_after"]), (options, None))

    @staticmethod
    async def a_negative_window_is_refused(trial: Trial) -> None:
        Rule("5", "after and limit are 0 or more")
        for route in ("read_turns", "read_projections"):
            for name in ("after", "limit"):
                await trial.refused(
                    f"conversation/{route}",
                    {"conversation_id": trial.thread, name: -1},
                    code="value_error",
                    message=f"{name} must be >= 0, got -1",
                )

    @staticmethod
    async def a_bad_id_is_refused_by_every_route(trial: Trial) -> None:
        rule = Rule("3", "an id outside the grammar is refused", "grammar.md")
        message = [{"role": "user", "content": "x"}]
        for name in BAD_CONVERSATION_IDS:
            for route, options in (
                ("append_turn", {"messages": message}),
                ("read_turns", {"after": -1}),
                ("last_turn_number", {}),
                ("append_projections", {"entries": []}),
                ("read_projections", {"limit": -1}),
                ("search_turns", {"query": "x", "conversations": [name], "limit": 0}),
            ):
                body = {**options, "conversation_id": name}
                error = (await trial.post(f"conversation/{route}", body)).decoded()["error"]
                seen = (route, error["code"], error["details"]["conversation_id"])
                rule.equal(seen, (route, "agent_conversation_id_invalid", name))

    @staticmethod
    async def racing_appenders_all_get_a_number(trial: Trial) -> None:
        rule = Rule("5", "every append gets its own number, without gaps and in order of stamps")
        made = await asyncio.gather(*(trial.append(str(number)) for number in range(APPENDERS)))
        numbers = sorted(turn["turn"] for turns in made for turn in turns)
        rule.equal(numbers, list(range(1, APPENDERS + 1)))
        turns = await trial.turns()
        rule.equal(len({turn["messages"][0]["content"] for turn in turns}), APPENDERS)

    @staticmethod
    async def conversations_are_apart(trial: Trial) -> None:
        rule = Rule("5", "each conversation has its own numbers and turns")
        other = trial.another_thread()
        await trial.append("one")
        (made,) = await trial.append("other", thread=other)
        rule.equal((made["turn"], made["conversation_id"]), (1, other))
        rule.equal([turn["turn"] for turn in await trial.turns()], [1])
