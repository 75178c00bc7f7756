"""Documents and listings as they are shown."""

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.usecases.text_lines import count_lines, line_start
from commonhold.usecases.views import MOST_LINES
from tests.support.memory_callers import Caller

TEN_LINES = "\n".join("abcdefghij")


async def test_numbers_are_as_wide_as_the_last_of_all_lines(
    store: InMemoryStore, ana: Caller
) -> None:
    await store.write("user:ana", "ten", "x")
    await store.write("user:ana", "ten", TEN_LINES)
    shown = await ana.succeed("view", path="user/ten", view_range=[9, 10])
    assert shown == "/user/ten (v2):\n 9: i\n10: j"
    assert "\n 3: c" in await ana.succeed("view", path="/user/ten", view_range=[3, 3])


@pytest.mark.parametrize(
    ("view_range", "lines"),
    [([2, 3], "2: b\n3: c"), ([3, -1], "3: c"), ([2, 99], "2: b\n3: c"), ([1, 1], "1: a")],
)
async def test_a_range_is_inclusive_and_clamped(
    store: InMemoryStore, ana: Caller, view_range: list[int], lines: str
) -> None:
    await store.write("user:ana", "d", "a\nb\nc")
    shown = await ana.succeed("view", path="/user/d", view_range=view_range)
    assert shown == f"/user/d (v1):\n{lines}"


@pytest.mark.parametrize(
    ("view_range", "error"),
    [
        ([2], "view_range must be [start_line, end_line], got [2]"),
        ([], "view_range must be [start_line, end_line], got []"),
        ([1, 2, 3], "view_range must be [start_line, end_line], got [1, 2, 3]"),
        ([0, 2], "view_range start 0 is outside [1, 3]"),
        ([4, -1], "view_range start 4 is outside [1, 3]"),
        ([3, 2], "view_range end 2 must be -1 or >= start 3"),
        ([3, -2], "view_range end -2 must be -1 or >= start 3"),
    ],
)
async def test_a_range_outside_the_document_is_refused(
    store: InMemoryStore, ana: Caller, view_range: list[int], error: str
) -> None:
    await store.write("user:ana", "d", "a\nb\nc")
    result = await ana.call("view", path="/user/d", view_range=view_range)
    assert (result.error, result.system_reminder) == (error, None)


async def test_a_redacted_document_is_one_line_whatever_the_range(
    store: InMemoryStore, ana: Caller
) -> None:
    await store.write("user:ana", "a", "secret")
    await store.redact("user:ana", path="a")
    shown = await ana.succeed("view", path="/user/a", view_range=[7])
    assert shown.startswith("/user/a: (redacted")
    assert "\n" not in shown


async def test_listings_are_recursive_ordered_and_without_state(
    store: InMemoryStore, ana: Caller
) -> None:
    for path in ("n/b", "n/a/deep", "z", "a", "messages/m", "message-links/l", "nearby"):
        await store.write("user:ana", path, "x")
    await store.redact("user:ana", path="z")
    whole = await ana.succeed("view", path="/user/", view_range=[7])
    assert whole == "- /user/a\n- /user/n/a/deep\n- /user/n/b\n- /user/nearby\n- /user/z (redacted)"
    assert await ana.succeed("view", path="/user/n") == "- /user/n/a/deep\n- /user/n/b"


async def test_a_mount_with_nothing_to_show_is_empty(store: InMemoryStore, ana: Caller) -> None:
    assert await ana.succeed("view", path="/user") == "/user is empty"
    await store.write("user:ana", "messages/m", "x")
    assert await ana.succeed("view", path="/user") == "/user is empty"


async def test_nothing_at_a_path_is_said(store: InMemoryStore, ana: Caller) -> None:
    await store.write("user:ana", "near", "x")
    result = await ana.call("view", path="/user/nea")
    assert result.error == "No document or directory at /user/nea"
    assert "/" in (result.system_reminder or "")


async def test_a_view_leaves_no_receipt(ana: Caller) -> None:
    assert (await ana.call("view", path="/")).receipt is None


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
async def test_of_a_document_of_millions_of_lines_only_those_shown_are_made(
    store: InMemoryStore, ana: Caller
) -> None:
    count = 3_000_000
    await store.write("user:ana", "long", "\n" * (count - 1))
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    shown = await ana.succeed("view", path="/user/long", view_range=[count - 1, -1])
    assert shown == f"/user/long (v1):\n{count - 1}: \n{count}: "
    await ana.succeed("insert", path="/user/long", insert_line=count - 1, insert_text="x")
    assert f"{count}: x" in await ana.succeed("view", path="/user/long", view_range=[count, count])
    _, peak = tracemalloc.get_traced_memory()
    # A list of the lines alone takes eight bytes a line.
    assert peak - before < 7 * count


async def test_more_lines_than_can_be_shown_at_once_are_refused(
    store: InMemoryStore, ana: Caller
) -> None:
    await store.write("user:ana", "long", "\n" * MOST_LINES)
    refused = await ana.call("view", path="/user/long")
    assert refused.error == (
        f"/user/long has {MOST_LINES + 1} lines; {MOST_LINES} can be shown at once"
    )
    assert "view_range" in (refused.system_reminder or "")
    shown = await ana.succeed("view", path="/user/long", view_range=[2, -1])
    assert shown.count("\n") == MOST_LINES


@given(st.lists(st.sampled_from(["", "a", "\r", "b" * 70_000]), min_size=1, max_size=6))
def test_every_line_is_found_where_it_begins(lines: list[str]) -> None:
    content = "\n".join(lines)
    assert count_lines(content) == len(lines)
    starts = [line_start(content, number) for number in range(1, len(lines) + 1)]
    assert [content[at:].split("\n", 1)[0] for at in starts] == lines
    assert starts == sorted(set(starts))
