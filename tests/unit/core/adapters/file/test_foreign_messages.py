"""Messages as another program writes them into files: read by the codec, or refused by it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from commonhold.adapters.file import FileStore
from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import ConversationFormatError, decode_message
from commonhold.usecases.transfers.transfers import transfer
from tests.support.file_trees import read_tree
from tests.support.remote_stores import served


def user(**keys: Any) -> dict[str, Any]:
    return {"role": "user", "content": "findable"} | keys


def block(**keys: Any) -> dict[str, Any]:
    return user(content=[keys])


def call(**keys: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": "1", "name": "n"} | keys]}


TAKEN = {
    "role alone": {"role": "user"},
    "nulls": user(tool_calls=None, reasoning=None, tool_call_id=None, extra=None),
    "arguments null": call(arguments=None, extra=None),
    "arguments absent": call(),
    "arguments in order": call(arguments={"z": 2**70, "a": [-0.0, 1e22, {"y": 1, "b": 2}]}),
    "tool_call_id empty": user(tool_call_id=""),
    "extra empty": user(extra={}),
    "extra a list": user(extra=[1]),
    "unknown keys": block(type="text", text="findable", cache_control={"a": 1}) | {"name": "b"},
    "data with white space": block(type="image", media_type="a/b", data="aGk=\n aGk="),
    "url empty": block(type="document", url=""),
    "compaction": block(type="compaction", encrypted_content="z"),
    "content empty": user(content=[]),
}
REFUSED = {
    "'role'": {"content": "x"},
    "'robot' is not a valid Role": {"role": "robot"},
    "ImageBlock requires exactly one of 'data' or 'url'": block(type="image"),
    "DocumentBlock requires exactly one of 'data' or 'url'": block(
        type="document", media_type="a/b", data="aGk=", url="u"
    ),
    "ImageBlock requires media_type with base64 data": block(type="image", data="aGk="),
    "Unknown content block type: 'audio'": block(type="audio"),
    "Unknown content block type: None": block(text="x"),
    "content block must be an object": user(content=["x"]),
    "message parameter 'content' must be": user(content=1),
    "message parameter 'tool_calls' must be a list of objects": user(tool_calls={}),
    "tool call parameter 'arguments' must be an object": call(arguments="x"),
    "malformed request: 'name'": {"role": "assistant", "tool_calls": [{"id": "1"}]},
    "has no message array": "x",
}


def plant(root: Path, name: str, message: Any) -> None:
    row = {
        "neosian_format": 1,
        "turn": 1,
        "created_at": "2026-01-02T03:04:20Z",
        "messages": [message],
        "actor": None,
    }
    folder = root / "conversations" / name
    folder.mkdir(parents=True)
    (folder / "turns.jsonl").write_text(json.dumps(row) + "\n")


async def test_what_the_codec_takes_is_read_and_moves_to_the_byte(tmp_path: Path) -> None:
    source, again, backing = tmp_path / "source", tmp_path / "again", InMemoryStore()
    for number, message in enumerate(TAKEN.values()):
        await asyncio.to_thread(plant, source, f"c{number}", message)
    async with FileStore(source) as files:
        for number, (case, message) in enumerate(TAKEN.items()):
            (turn,) = await files.read_turns(f"c{number}")
            assert (case, repr(turn.messages)) == (case, repr((decode_message(message),)))
        assert await files.search_turns("findable")
        async with served(backing) as remote, FileStore(again) as back:
            assert (await transfer(files, remote)).is_whole
            assert (await transfer(remote, back)).is_whole
            for number in range(len(TAKEN)):
                expected = repr(await files.read_turns(f"c{number}"))
                for store in (remote, backing, back):
                    assert repr(await store.read_turns(f"c{number}")) == expected
    async with FileStore(tmp_path / "direct") as direct, FileStore(source) as files:
        assert (await transfer(files, direct)).is_whole
    assert read_tree(again) == read_tree(tmp_path / "direct")


@pytest.mark.parametrize("literal", REFUSED)
async def test_what_the_codec_refuses_is_refused_in_its_words(tmp_path: Path, literal: str) -> None:
    plant(tmp_path, "c", REFUSED[literal])
    async with FileStore(tmp_path) as store:
        with pytest.raises(ConversationFormatError) as refusal:
            await store.read_turns("c")
    assert refusal.value.reason.startswith("turn-log line 1 has ")
    assert literal in refusal.value.reason
    assert refusal.value.__notes__ == ["in conversations/c/turns.jsonl, line 1"]
