"""Rows by hand that can be read and that no store lands: the file and the line are told."""

from pathlib import Path

import pytest

from commonhold.adapters.file import FileStore
from commonhold.adapters.in_memory import InMemoryStore
from commonhold.usecases.transfers.transfers import transfer

STAMP = '"2026-01-02T03:04:05Z"'
DOCUMENT = (
    "---\nneosian_format: 1\nversion: 1\ncreated_at: '2026-01-02T03:04:05Z'\n"
    "updated_at: '2026-01-02T03:04:05Z'\n{more}---\n{content}"
)


def version(number: int, *, content: str = "x", more: str = "") -> str:
    return (
        f'{{"neosian_format":1,"path":"a","version":{number},"action":"created",'
        f'"content":"{content}","actor":null,"created_at":{STAMP}{more}}}\n'
    )


def memory_act(*, path: str = '"a"', count: int = 1, actor: str = "op") -> str:
    return f'{{"ts":{STAMP},"actor":"{actor}","path":{path},"count":{count}}}\n'


def turn(number: int, *, text: str = "x") -> str:
    return (
        f'{{"neosian_format":1,"turn":{number},"created_at":{STAMP},'
        f'"messages":[{{"role":"user","content":"{text}"}}],"actor":null}}\n'
    )


def entry(number: int, *, text: str = "x") -> str:
    return f'{{"neosian_format":1,"turn":{number},"span":1,"kind":"log","text":"{text}"}}\n'


def turn_act(*, turns: str = "[1]", actor: str = "op") -> str:
    return f'{{"neosian_format":1,"created_at":{STAMP},"actor":"{actor}","turns":{turns}}}\n'


CASES = {
    "document redacted with content": (
        "user%3Aa/documents/n/a.md",
        DOCUMENT.format(more="redacted: true\n", content="left"),
        None,
        "for 'n/a' in scope 'user:a': a redacted document must have empty content",
    ),
    "document with U+0000": (
        "user%3Aa/documents/a.md",
        DOCUMENT.format(more="", content="a\0b"),
        None,
        "for 'a' in scope 'user:a': parameter 'content' must not contain U+0000",
    ),
    "version redacted with content": (
        "user%3Aa/versions/a.jsonl",
        version(1) + version(2, more=',"redacted":true'),
        2,
        "for 'a' in scope 'user:a': a redacted version must have empty content",
    ),
    "version with U+0000": (
        "user%3Aa/versions/a.jsonl",
        version(1) + version(2, content="a\\u0000b") + version(3),
        2,
        "for 'a' in scope 'user:a': parameter 'content' must not contain U+0000",
    ),
    "version twice": (
        "user%3Aa/versions/a.jsonl",
        version(1) + version(2) + version(2, content="y"),
        3,
        "for 'a' in scope 'user:a': it is there twice",
    ),
    "erasure of too many": (
        "user%3Aa/redactions.jsonl",
        memory_act() + memory_act(count=2**31),
        2,
        "for 'redactions.jsonl' in scope 'user:a': parameter 'count' must be 0 to 2147483647",
    ),
    "erasure of no path": (
        "user%3Aa/redactions.jsonl",
        memory_act() + memory_act(path='"a//b"'),
        2,
        "Invalid memory document path 'a//b'",
    ),
    "turn twice": (
        "conversations/c/turns.jsonl",
        turn(1) + turn(2) + turn(2),
        3,
        "in conversation 'c': it is there twice",
    ),
    "turn with U+0000": (
        "conversations/c/turns.jsonl",
        turn(1) + turn(2, text="a\\u0000b"),
        2,
        "in conversation 'c': parameter 'messages' must not contain U+0000",
    ),
    "projection beyond": (
        "conversations/c/projections.jsonl",
        entry(1) + entry(2**31),
        2,
        "in conversation 'c': parameter 'turn' must be 1 to 2147483647",
    ),
    "projection with U+0000": (
        "conversations/c/projections.jsonl",
        entry(2) + entry(1, text="a\\u0000b"),
        2,
        "in conversation 'c': parameter 'text' must not contain U+0000",
    ),
    "erasure by U+0000": (
        "conversations/c/redactions.jsonl",
        turn_act() + turn_act(actor="a\\u0000b"),
        2,
        "in conversation 'c': parameter 'actor' must not contain U+0000",
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_row_that_no_store_lands_is_told_by_file_and_line(
    tmp_path: Path, case: str
) -> None:
    name, text, line, reason = CASES[case]
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode())
    if name.endswith("c/redactions.jsonl"):
        file.with_name("turns.jsonl").write_text(turn(1))
    target = InMemoryStore()
    async with FileStore(tmp_path) as source:
        await source.write("user:b", "a", "moves")
        report = await transfer(source, target)
    (failed,) = report.failed
    assert reason in str(failed.error)
    place = name if line is None else f"{name}, line {line}"
    assert str(failed.error).endswith(f"(in {place})")
    assert (await target.scopes(), await target.conversations()) == (("user:b",), ())
