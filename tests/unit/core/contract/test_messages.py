"""The message codec, by the tables and literals of docs/reference/stores.md, section 6."""

import re
from typing import Any

import msgspec
import pytest

from commonhold.contract import decode_message, decode_messages, encode_messages, load_messages


def encoded(raw: dict[str, Any]) -> str:
    return encode_messages((decode_message(raw),)).decode()[1:-1]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def calling(**call: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": "1", "name": "n", **call}]}


NO_OBJECTS: tuple[Any, ...] = (None, 1, "x", [])
NO_LISTS_OF_OBJECTS: tuple[Any, ...] = ({}, "x", 1, False, [1], [None], [[]])
REFUSALS: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "malformed request: 'role'"),
    ({"content": 5}, "malformed request: 'role'"),
    ({"role": "robot"}, "'robot' is not a valid Role"),
    ({"role": None}, "None is not a valid Role"),
    ({"role": 1}, "1 is not a valid Role"),
    ({"role": ["user"]}, "['user'] is not a valid Role"),
    (user([{"type": "text"}]), "malformed request: 'text'"),
    (user([{"type": "audio"}]), "Unknown content block type: 'audio'"),
    (user([{}]), "Unknown content block type: None"),
    (user([{"type": ["text"], "text": "x"}]), "Unknown content block type: ['text']"),
    (
        user([{"type": "image", "data": "x", "url": "y", "media_type": "m"}]),
        "ImageBlock requires exactly one of 'data' or 'url'",
    ),
    (user([{"type": "image"}]), "ImageBlock requires exactly one of 'data' or 'url'"),
    (
        user([{"type": "document", "data": "x", "url": "y"}]),
        "DocumentBlock requires exactly one of 'data' or 'url'",
    ),
    (
        user([{"type": "document", "url": None}]),
        "DocumentBlock requires exactly one of 'data' or 'url'",
    ),
    (
        user([{"type": "image", "data": "x"}]),
        "ImageBlock requires media_type with base64 data",
    ),
    (
        user([{"type": "document", "data": ""}]),
        "DocumentBlock requires media_type with base64 data",
    ),
    ({"role": "assistant", "tool_calls": [{"name": "n"}]}, "malformed request: 'id'"),
    ({"role": "assistant", "tool_calls": [{"id": "1"}]}, "malformed request: 'name'"),
    (calling(id=1), "tool call parameter 'id' must be a string"),
    (calling(id=None), "tool call parameter 'id' must be a string"),
    (calling(name=[]), "tool call parameter 'name' must be a string"),
    (calling(arguments="{}"), "tool call parameter 'arguments' must be an object"),
    (calling(arguments=[]), "tool call parameter 'arguments' must be an object"),
    *(
        (user(content), "message parameter 'content' must be a string, null or a list of blocks")
        for content in (0, 1.5, True, False, {}, {"type": "text"})
    ),
    *((user([block]), "content block must be an object") for block in NO_OBJECTS),
    *(
        (user([{"type": "text", "text": text}]), "content block parameter 'text' must be a string")
        for text in (None, 1, ["x"])
    ),
    *(
        (
            user([{"type": "image", "url": "u", key: 1}]),
            f"content block parameter '{key}' must be a string",
        )
        for key in ("media_type", "data", "url")
    ),
    *(
        (
            user([{"type": "compaction", key: 1}]),
            f"content block parameter '{key}' must be a string",
        )
        for key in ("content", "encrypted_content")
    ),
    *(
        ({"role": "user", key: 1}, f"message parameter '{key}' must be a string")
        for key in ("reasoning", "tool_call_id")
    ),
    *(
        (
            {"role": "user", "tool_calls": calls},
            "message parameter 'tool_calls' must be a list of objects",
        )
        for calls in NO_LISTS_OF_OBJECTS
    ),
)


@pytest.mark.parametrize(("raw", "message"), REFUSALS)
def test_a_malformed_message_is_refused_in_words(raw: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        decode_message(raw)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            {"role": "user"},
            '{"role":"user","content":null,"reasoning":null,"tool_calls":[],"tool_call_id":null}',
        ),
        (
            {"extra": {}, "tool_call_id": "", "tool_calls": None, "content": "", "role": "tool"},
            '{"role":"tool","content":"","reasoning":null,"tool_calls":[],"tool_call_id":null}',
        ),
        (
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "1", "name": "n", "type": "function", "extra": {"google": {"sig": "x"}}}
                ],
                "extra": {"k": 1},
                "refusal": "dropped",
            },
            (
                '{"role":"assistant","content":null,"reasoning":null,"tool_calls":[{"id":"1","name":"n",'
                '"arguments":{},"extra":{"google":{"sig":"x"}}}],"tool_call_id":null,"extra":{"k":1}}'
            ),
        ),
        (
            user([]),
            '{"role":"user","content":[],"reasoning":null,"tool_calls":[],"tool_call_id":null}',
        ),
    ],
    ids=["bare", "empty values", "worked example", "no blocks"],
)
def test_a_message_is_encoded_in_the_order_of_the_table(raw: dict[str, Any], expected: str) -> None:
    assert encoded(raw) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {"text": "x", "cache_control": {}, "type": "text"},
            '{"type":"text","text":"x"}',
        ),
        (
            {"type": "image", "url": "", "title": "dropped"},
            '{"type":"image","media_type":null,"data":null,"url":""}',
        ),
        (
            {"type": "image", "url": "u", "media_type": "image/png"},
            '{"type":"image","media_type":"image/png","data":null,"url":"u"}',
        ),
        (
            {"type": "document", "media_type": "m", "data": "aGk=\n aGk=\t\r"},
            '{"type":"document","media_type":"m","data":"aGk=aGk=","url":null}',
        ),
        (
            {"type": "compaction", "encrypted_content": "e"},
            '{"type":"compaction","content":null,"encrypted_content":"e"}',
        ),
        ({"type": "compaction"}, '{"type":"compaction","content":null,"encrypted_content":null}'),
    ],
)
def test_a_block_is_encoded_in_the_order_of_the_table(block: dict[str, Any], expected: str) -> None:
    assert f'"content":[{expected}]' in encoded(user([block]))


@pytest.mark.parametrize("extra", [[1], "text", 7, True])
def test_an_extra_that_is_no_object_is_carried_when_truthy(extra: Any) -> None:
    assert msgspec.json.decode(encoded({"role": "user", "extra": extra}))["extra"] == extra


@pytest.mark.parametrize("extra", [None, {}, [], "", 0, False])
def test_a_falsy_extra_is_omitted(extra: Any) -> None:
    assert "extra" not in encoded({"role": "user", "extra": extra})
    assert "extra" not in encoded(calling(extra=extra))


@pytest.mark.parametrize(
    "arguments",
    [
        '{"q":1,"n":[1,2]}',
        '{"zz":1,"b":{"y":2,"a":1},"a":3}',
        '{"e":-0.0,"f":1e22,"g":1.0,"h":1}',
        '{"big":123456789012345678901234567890,"low":-18446744073709551617}',
        '{"t":true,"z":null,"s":"é\\u2028\\"\\n"}',
    ],
)
def test_arguments_come_back_in_their_order_and_types(arguments: str) -> None:
    raw = calling(arguments=msgspec.json.decode(arguments), extra=msgspec.json.decode(arguments))
    stored = encode_messages((decode_message(raw),))
    (loaded,) = load_messages(stored)
    # Text tells what equality forgives: key order, 1 and 1.0, 0.0 and -0.0.
    assert repr(loaded.tool_calls[0].arguments) == repr(msgspec.json.decode(arguments))
    assert repr(loaded.tool_calls[0].extra) == repr(msgspec.json.decode(arguments))
    assert encode_messages((loaded,)) == stored


def test_the_first_bad_message_of_a_list_is_the_one_reported() -> None:
    with pytest.raises(ValueError, match="'robot' is not a valid Role"):
        decode_messages([user("fine"), {"role": "robot"}, {}])


@pytest.mark.parametrize("stored", [b"", b"{}", b"null", b'[{"role":"robot"}]', b"[1]", b"[{}]"])
def test_a_stored_form_that_is_no_message_array_is_a_value_error(stored: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        load_messages(stored)
