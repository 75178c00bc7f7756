"""Rows that no store reads are erased all the same, as long as a line is an object at all."""

import json
from pathlib import Path

import pytest

from commonhold.adapters.file import FileStore
from commonhold.contract import (
    CommonholdError,
    ConversationFormatError,
    MemoryFormatError,
    Message,
)

STAMP = '"created_at":"2026-01-02T03:04:05Z"'
ROW = '{{"neosian_format":1,"path":"a","version":{number},"action":"created",{rest}}}\n'
TURN = '{{"neosian_format":1,"turn":{number},"messages":[{{"role":"assistant",{rest}}}],{stamp}}}\n'
DOCUMENT = (
    "---\nneosian_format: 1\nversion: 2\ncreated_at: '2026-01-02T03:04:05Z'\n"
    "updated_at: '2026-01-02T03:04:05Z'\n---\nsecret"
)
ODD_VERSIONS = {
    "a lone surrogate": f'"content":"secret \\ud800",{STAMP}',
    "a newer format": f'"neosian_format":2,"content":"secret",{STAMP}',
    "NaN beside": f'"content":"secret","weight":NaN,{STAMP}',
    "NaN for content": f'"content":NaN,"secret":1,{STAMP}',
    "content an object": f'"content":{{"secret":Infinity}},{STAMP}',
    "no stamp": '"content":"secret"',
    "a naive stamp": '"content":"secret","created_at":"2026-01-02T03:04:05"',
    "an actor that is no text": f'"content":"secret","actor":{{"t":["secret"]}},{STAMP}',
    "no action of ours": f'"action":"patched","content":"secret",{STAMP}',
}
ODD_TURNS = {
    "NaN in arguments": (
        '"tool_calls":[{"id":"1","name":"n","arguments":{"secret":NaN}}]',
        STAMP,
    ),
    "a lone surrogate": ('"content":"secret \\udfff"', STAMP),
    "no role of ours": ('"role":"robot","content":"secret"', STAMP),
    "no stamp": ('"content":"secret"', '"actor":null'),
    "an actor that is no text": ('"content":"secret"', f'"actor":["secret"],{STAMP}'),
    "a newer format": ('"content":"secret"', f'"neosian_format":2,{STAMP}'),
}


def put(root: Path, name: str, text: str) -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def texts(root: Path) -> str:
    return "".join(file.read_text() for file in root.rglob("*") if file.is_file())


@pytest.mark.parametrize("case", ODD_VERSIONS)
@pytest.mark.parametrize("path", ["a", None], ids=["path", "scope"])
async def test_a_version_that_nobody_reads_is_erased(
    tmp_path: Path, case: str, path: str | None
) -> None:
    good = ROW.format(number=1, rest=f'"content":"secret",{STAMP}')
    odd = ROW.format(number=2, rest=ODD_VERSIONS[case])
    file = put(tmp_path, "user%3Aa/versions/a.jsonl", good + odd)
    put(tmp_path, "user%3Aa/documents/a.md", DOCUMENT)
    async with FileStore(tmp_path) as store:
        await store.write("user:a", "b", "secret" if path is None else "kept")
        with pytest.raises(MemoryFormatError):
            await store.versions("user:a", "a")
        with pytest.raises(MemoryFormatError):
            await store.write("user:a", "a", "more")
        assert await store.redact("user:a", path=path) == (1 if path else 2)
        assert "secret" not in texts(tmp_path)
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        blank = [(row["version"], row["content"], row["redacted"]) for row in rows]
        assert blank == [(1, "", True), (2, "", True)]
        found = await store.read("user:a", "a")
        assert found is not None
        assert (found.content, found.redacted) == ("", True)


@pytest.mark.parametrize("case", ODD_TURNS)
@pytest.mark.parametrize("turns", [None, [2]], ids=["all", "the odd one"])
async def test_a_turn_that_nobody_reads_is_erased(
    tmp_path: Path, case: str, turns: list[int] | None
) -> None:
    rest, stamp = ODD_TURNS[case]
    good = TURN.format(number=1, rest='"content":"kept"', stamp=STAMP)
    put(
        tmp_path,
        "conversations/c/turns.jsonl",
        good + TURN.format(number=2, rest=rest, stamp=stamp),
    )
    entry = '{"neosian_format":1,"turn":2,"span":1,"kind":"log","text":"secret \\ud800"}\n'
    put(tmp_path, "conversations/c/projections.jsonl", entry)
    async with FileStore(tmp_path) as store:
        with pytest.raises(ConversationFormatError):
            await store.read_turns("c")
        with pytest.raises(ConversationFormatError):
            await store.append_turn("c", [Message(role="user", content="x")])
        assert await store.redact_turns("c", turns=turns) == (2 if turns is None else 1)
        assert "secret" not in texts(tmp_path)
        assert ("kept" in texts(tmp_path)) is (turns is not None)
        (act,) = await store.turn_redactions()
        assert act.turns == ((1, 2) if turns is None else (2,))


async def test_what_was_only_no_json_is_read_once_it_is_erased(tmp_path: Path) -> None:
    odd = ROW.format(number=1, rest=ODD_VERSIONS["a lone surrogate"])
    put(tmp_path, "user%3Aa/versions/a.jsonl", odd)
    turn = TURN.format(number=1, rest=ODD_TURNS["NaN in arguments"][0], stamp=STAMP)
    put(tmp_path, "conversations/c/turns.jsonl", turn)
    async with FileStore(tmp_path) as store:
        await store.redact("user:a")
        await store.redact_turns("c")
        (row,) = await store.versions("user:a", "a")
        assert (row.content, row.redacted) == ("", True)
        (read,) = await store.read_turns("c")
        assert (read.messages, read.redacted) == ((), True)
        assert (await store.append_turn("c", [Message(role="user", content="x")])).turn == 2
        assert (await store.write("user:a", "a", "new")).version == 2


@pytest.mark.parametrize("line", ["{", "[]", '"secret"', "\ufeff{}", '{"version":NaN}'])
async def test_what_is_no_row_stops_an_erasure_and_nothing_changes(
    tmp_path: Path, line: str
) -> None:
    before = ROW.format(number=1, rest=f'"content":"secret",{STAMP}') + f"{line}\n"
    file = put(tmp_path, "user%3Aa/versions/a.jsonl", before)
    turns = put(tmp_path, "conversations/c/turns.jsonl", f"{line}\n")
    async with FileStore(tmp_path) as store:
        with pytest.raises(CommonholdError) as refusal:
            await store.redact("user:a")
        assert refusal.value.__notes__ == ["in user%3Aa/versions/a.jsonl, line 2"]
        with pytest.raises(CommonholdError):
            await store.redact_turns("c")
    assert (file.read_text(), turns.read_text()) == (before, f"{line}\n")
