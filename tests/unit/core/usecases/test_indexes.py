"""The index: its lines, its three forms, and its budget."""

import string
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import TickingClock
from commonhold.contract import MemoryEntry, Outline
from commonhold.usecases.indexes import IndexedMount, _floor, _folded, _full, render_index
from commonhold.usecases.mounts import Mount
from tests.support.memory_callers import PROJECT, USER, Caller
from tests.support.plain_store import PlainStore

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
AT_175 = """\
## /user — about Ana
- /user/notes/c
- /user/ops/run/x
- /user/notes/ (2 documents)
- /user/ (2 more)

## /project
- /project/adr/1
- /project/adr/2
- /project/design"""
AT_100 = """\
## /user — about Ana
(6 documents — view /user/ to list)

## /project
(3 documents — view /project/ to list)"""


def entry(path: str, *, minute: int, redacted: bool = False) -> MemoryEntry:
    stamp = EPOCH + timedelta(minutes=minute)
    return MemoryEntry(path=path, version=1, created_at=EPOCH, updated_at=stamp, redacted=redacted)


def indexed(name: str, entries: list[MemoryEntry], *, description: str = "") -> IndexedMount:
    mount = Mount(scope="user:a", mount_path=name, description=description)
    ordered = tuple(sorted(entries, key=lambda one: one.path))
    return IndexedMount(mount=mount, entries=ordered)


EXAMPLE = [
    indexed(
        "user",
        [
            entry(path, minute=minute)
            for minute, path in enumerate(
                ["alpha", "notes/a", "notes/b", "beta", "ops/run/x", "notes/c"]
            )
        ],
        description="about Ana",
    ),
    indexed(
        "project",
        [
            entry(path, minute=minute)
            for minute, path in enumerate(["design", "adr/1", "adr/2"], start=6)
        ],
    ),
]


@pytest.mark.parametrize(
    ("budget", "length"),
    [
        (8192, 178),
        (178, 178),
        (177, 166),
        (174, 166),
        (173, 158),
        (172, 157),
        (157, 157),
        (156, 108),
        (0, 108),
    ],
)
def test_the_example_has_the_lengths_of_its_table(budget: int, length: int) -> None:
    assert len(render_index(EXAMPLE, budget=budget)) == length


@pytest.mark.parametrize(("budget", "text"), [(175, AT_175), (100, AT_100)])
def test_the_example_reads_as_printed(budget: int, text: str) -> None:
    assert render_index(EXAMPLE, budget=budget) == text


def test_a_header_shows_description_and_flag() -> None:
    mount = Mount(scope="user:a", mount_path="kb", description="the handbook", read_only=True)
    text = render_index([IndexedMount(mount=mount, entries=(entry("a", minute=0, redacted=True),))])
    assert text == "## /kb — the handbook (read-only)\n- /kb/a (redacted)"


def test_a_single_document_is_not_several() -> None:
    folded = indexed("m", [entry(f"long/{'x' * 100}", minute=0)])
    assert render_index([folded], budget=40) == "## /m\n- /m/long/ (1 document)"
    assert render_index([folded], budget=10) == "## /m\n(1 document — view /m/ to list)"


def test_equal_stamps_are_shown_by_mount_and_path() -> None:
    mounts = [
        indexed(name, [entry(f"d/{letter * 9}", minute=0) for letter in "abc"]) for name in "mn"
    ]
    text = render_index(mounts, budget=80)
    assert text == (
        "## /m\n- /m/d/aaaaaaaaa\n- /m/d/ (2 documents)\n\n## /n\n- /n/d/ (3 documents)"
    )


def test_an_older_document_is_not_shown_for_a_newer_one_that_does_not_fit() -> None:
    documents = [entry("old/a", minute=0), entry("old/b", minute=1), entry("z" * 90, minute=2)]
    text = render_index([indexed("m", documents)], budget=60)
    assert text == "## /m\n- /m/old/ (2 documents)\n- /m/ (1 more)"


def by_rendering(mounts: list[IndexedMount], budget: int) -> str:
    """The rule of the page, measured on whole texts instead of by differences."""
    if len(_full(mounts)) <= budget:
        return _full(mounts)
    hot: list[set[str]] = [set() for _ in mounts]
    ranked = sorted(
        ((at, one) for at, block in enumerate(mounts) for one in block.entries),
        key=lambda placed: (-placed[1].updated_at.timestamp(), placed[0], placed[1].path),
    )
    for at, one in ranked:
        before = len(_folded(mounts, hot))
        hot[at].add(one.path)
        after = len(_folded(mounts, hot))
        if after > budget and after >= before:
            hot[at].remove(one.path)
            break
    text = _folded(mounts, hot)
    return text if len(text) <= budget else _floor(mounts)


paths = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map("/".join)
mounts_of_documents = st.lists(
    st.dictionaries(paths, st.integers(0, 5), max_size=14), min_size=1, max_size=3
)


@settings(max_examples=300, deadline=None)
@given(stamps=mounts_of_documents, budget=st.integers(0, 400))
def test_the_index_is_what_rendering_each_step_gives(
    stamps: list[dict[str, int]], budget: int
) -> None:
    mounts = [
        indexed(f"m{at}", [entry(path, minute=minute) for path, minute in of_mount.items()])
        for at, of_mount in enumerate(stamps)
    ]
    text = render_index(mounts, budget=budget)
    assert text == by_rendering(mounts, budget)
    assert len(text) <= budget or text == _floor(mounts)


async def test_state_is_hidden_and_mailboxes_are_counted_when_they_are_served(
    store: InMemoryStore,
) -> None:
    for path in ("messages/a", "messages/b", "messages/gone", "message-links/l", "sessions/s"):
        await store.write("user:ana", path, "x")
    await store.redact("user:ana", path="messages/gone")
    await store.write("project:erp", "handoff", "x")
    shown = "## /user\n- /user/sessions/s\n\n## /project\n- /project/handoff"
    assert await Caller(store, USER, PROJECT).succeed("view") == shown
    counting = Caller(store, USER, PROJECT, counts_mailboxes=True)
    suffix = "\n- /user/messages/ (2 mailbox records; use messages list/view)"
    assert await counting.succeed("view") == shown + suffix


def test_the_mailbox_lines_come_out_of_the_budget() -> None:
    counted = [msgspec.structs.replace(block, mailbox_records=3) for block in EXAMPLE]
    suffix = "".join(
        f"\n- /{name}/messages/ (3 mailbox records; use messages list/view)"
        for name in ("user", "project")
    )
    assert render_index(counted, budget=178 + len(suffix)) == _full(EXAMPLE) + suffix
    assert render_index(counted, budget=175 + len(suffix)) == AT_175 + suffix


LETTERS = string.ascii_letters + string.digits
NAMES = ["a", "b", "a/x", "a/y", "b/z", "c/long-name", "messages/m", "d", "e/f/g", "a/" + "w" * 60]
names = st.sampled_from(NAMES)
histories = st.lists(st.tuples(st.sampled_from(["user:ana", "project:erp"]), names), max_size=40)


@settings(max_examples=300, deadline=None)
@given(written=histories, budget=st.integers(-5, 300))
async def test_an_outline_gives_the_index_that_a_listing_gives(
    written: list[tuple[str, str]], budget: int
) -> None:
    outlined, listed = InMemoryStore(clock=TickingClock()), PlainStore(clock=TickingClock())
    for number, (scope, path) in enumerate(written):
        for store in (outlined, listed):
            await store.write(scope, path, "x")
            if number % 7 == 6:
                await store.redact(scope, path=path)
            if number % 5 == 4:
                await store.delete(scope, path)
    mounts = (USER, "scope=user:ana,path=u,ro", PROJECT)
    texts = [
        await Caller(store, *mounts, index_budget=budget).succeed("view")
        for store in (outlined, listed)
    ]
    assert texts[0] == texts[1]


class WatchedStore(InMemoryStore):
    """Remembers how many rows each outline was asked for."""

    def __init__(self) -> None:
        super().__init__(clock=TickingClock())
        self.asked: list[int] = []

    async def outline(self, scope: str, **options: Any) -> Outline:
        self.asked.append(options["newest"])
        return await super().outline(scope, **options)


@pytest.mark.parametrize(
    ("count", "width", "asked"),
    [
        (10, 1, [11]),
        (60, 30, [11]),
        (30, 1, [11, 35]),
        (60, 1, [11, 35]),
    ],
    ids=["all fit", "usual names", "short names that all fit", "short names"],
)
async def test_a_store_is_asked_again_only_where_short_names_leave_room(
    count: int, width: int, asked: list[int]
) -> None:
    watched, listed = WatchedStore(), PlainStore(clock=TickingClock())
    for number in range(count):
        for store in (watched, listed):
            await store.write("user:ana", f"{LETTERS[number]:x>{width}}", "x")
    texts = [
        await Caller(store, "scope=user:ana,path=m", index_budget=240).succeed("view")
        for store in (watched, listed)
    ]
    assert texts[0] == texts[1]
    assert watched.asked == asked


async def test_each_scope_is_read_once_and_no_body_at_all(store: InMemoryStore) -> None:
    calls: Counter[str] = Counter()

    class CountingStore(InMemoryStore):
        async def outline(self, scope: str, **options: Any) -> Outline:
            calls[f"outline {scope}"] += 1
            return await super().outline(scope, **options)

        async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
            calls["list"] += 1
            return await super().list_documents(scope, prefix=prefix)

        async def read(self, scope: str, path: str) -> None:
            calls["read"] += 1

    caller = Caller(CountingStore(), USER, "scope=user:ana,path=mine,ro", PROJECT)
    await caller.succeed("view")
    assert calls == {"outline user:ana": 1, "outline project:erp": 1}
