"""`str_replace` and `insert`: where they apply, where they do not, and what they leave."""

import time

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.usecases.commands.replacements import MOST_MATCHES, _match_starts
from tests.support.memory_callers import USER, Caller, InterruptedStore


async def content_of(store: InMemoryStore) -> str:
    document = await store.read("user:ana", "d")
    assert document is not None
    return document.content


@pytest.mark.parametrize(
    ("content", "sought", "told"),
    [
        ("x\nx\nx", "x", "3 times in /user/d (lines 1, 2, 3)"),
        ("aaa", "aa", "2 times in /user/d (lines 1, 1)"),
        ("ab\nab\n\nab\n", "ab\n", "3 times in /user/d (lines 1, 2, 4)"),
        ("\n\n\n", "\n\n", "2 times in /user/d (lines 1, 2)"),
    ],
)
async def test_several_matches_are_counted_and_placed(
    store: InMemoryStore, ana: Caller, content: str, sought: str, told: str
) -> None:
    await store.write("user:ana", "d", content)
    result = await ana.call("str_replace", path="/user/d", old_str=sought, new_str="y")
    assert result.error == f"old_str appears {told}"
    assert "surrounding" in (result.system_reminder or "")
    assert await content_of(store) == content


async def test_a_match_that_is_not_there_is_refused(store: InMemoryStore, ana: Caller) -> None:
    await store.write("user:ana", "d", "Text")
    result = await ana.call("str_replace", path="/user/d", old_str="text", new_str="y")
    assert result.error == "old_str did not appear verbatim in /user/d"
    assert "exact" in (result.system_reminder or "")


async def test_a_replacement_may_be_nothing_and_is_no_pattern(
    store: InMemoryStore, ana: Caller
) -> None:
    await store.write("user:ana", "d", "keep (.*) \\1 cut")
    await ana.succeed("str_replace", path="/user/d", old_str=" cut", new_str="")
    await ana.succeed("str_replace", path="/user/d", old_str="(.*)", new_str="\\1")
    assert await content_of(store) == "keep \\1 \\1"


async def test_an_empty_old_str_is_refused_before_the_document_is_sought(ana: Caller) -> None:
    error = await ana.fail("str_replace", path="/user/absent", old_str="", new_str="y")
    assert error == "old_str must not be empty"


@pytest.mark.parametrize(
    ("content", "sought"), [("abababa", "aba"), ("aabaabaab", "aab"), ("xyz", "y"), ("aa", "aaa")]
)
def test_the_starts_are_those_of_a_plain_search(content: str, sought: str) -> None:
    plain = [at for at in range(len(content)) if content.startswith(sought, at)]
    assert list(_match_starts(content, sought)) == plain


@pytest.mark.parametrize("sought", ["a", "aa", "a" * 1_000_000], ids=["short", "overlaps", "long"])
async def test_no_more_matches_are_looked_for_than_are_told(
    store: InMemoryStore, ana: Caller, sought: str
) -> None:
    await store.write("user:ana", "d", "\n" + "a" * 2_000_000)
    began = time.process_time()
    error = await ana.fail("str_replace", path="/user/d", old_str=sought, new_str="")
    assert time.process_time() - began < 5
    listed = ", ".join(["2"] * MOST_MATCHES)
    assert error == (
        f"old_str appears more than 50 times in /user/d (the first ones in lines {listed})"
    )


async def test_as_many_matches_as_are_told_are_counted(store: InMemoryStore, ana: Caller) -> None:
    await store.write("user:ana", "d", "a" * MOST_MATCHES)
    error = await ana.fail("str_replace", path="/user/d", old_str="a", new_str="")
    assert error.startswith("old_str appears 50 times in /user/d (lines 1, 1, ")


@pytest.mark.parametrize(
    ("content", "line", "text", "expected"),
    [
        ("", 0, "hello", "hello\n"),
        ("a\nb", 0, "x", "x\na\nb"),
        ("a\nb", 1, "x", "a\nx\nb"),
        ("a\nb", 2, "x", "a\nb\nx"),
        ("a\nb", 1, "x\n", "a\nx\n\nb"),
        ("a\n", 2, "x", "a\n\nx"),
        ("a\r\nb", 1, "x", "a\r\nx\nb"),
    ],
)
async def test_a_text_is_inserted_as_one_element_of_the_lines(
    store: InMemoryStore, ana: Caller, content: str, line: int, text: str, expected: str
) -> None:
    await store.write("user:ana", "d", content)
    edited = await ana.succeed("insert", path="/user/d", insert_line=line, insert_text=text)
    assert edited == "Edited /user/d (v2)"
    assert await content_of(store) == expected


@pytest.mark.parametrize("line", [-1, 3])
async def test_a_line_out_of_range_is_refused(store: InMemoryStore, ana: Caller, line: int) -> None:
    await store.write("user:ana", "d", "a\n")
    error = await ana.fail("insert", path="/user/d", insert_line=line, insert_text="x")
    assert error == f"insert_line {line} is out of range for /user/d (valid: 0 to 2)"


EDITS = [
    ("str_replace", {"old_str": "a", "new_str": "b"}),
    ("insert", {"insert_line": 0, "insert_text": "b"}),
]


@pytest.mark.parametrize(("command", "arguments"), EDITS)
async def test_an_edit_needs_a_document(
    ana: Caller, command: str, arguments: dict[str, object]
) -> None:
    result = await ana.call(command, path="/user/d", **arguments)
    assert result.error == "No document at /user/d"
    assert result.system_reminder


@pytest.mark.parametrize(("command", "arguments"), EDITS)
async def test_a_redacted_document_is_not_edited(
    store: InMemoryStore, ana: Caller, command: str, arguments: dict[str, object]
) -> None:
    await store.write("user:ana", "d", "a")
    await store.redact("user:ana", path="d")
    result = await ana.call(command, path="/user/d", **arguments)
    assert result.error == "/user/d is redacted; its content was cleared"
    assert "again" in (result.system_reminder or "")


@pytest.mark.parametrize(("command", "arguments"), EDITS)
async def test_an_edit_never_covers_a_write_that_it_did_not_see(
    store: InMemoryStore, command: str, arguments: dict[str, object]
) -> None:
    await store.write("user:ana", "d", "a")

    async def write_meanwhile() -> None:
        await store.write("user:ana", "d", "a, and more")

    late = Caller(InterruptedStore(store, after="read", act=write_meanwhile), USER)
    assert (await late.fail(command, path="/user/d", **arguments)).endswith("version_mismatch")
    assert await content_of(store) == "a, and more"


@pytest.mark.parametrize(("command", "arguments"), EDITS)
async def test_the_receipt_of_an_edit_names_its_version(
    store: InMemoryStore, ana: Caller, command: str, arguments: dict[str, object]
) -> None:
    await store.write("user:ana", "d", "a")
    result = await ana.call(command, path="/user/d", **arguments)
    assert result.receipt is not None
    assert (result.receipt.command, result.receipt.path, result.receipt.version) == (
        command,
        "/user/d",
        2,
    )
