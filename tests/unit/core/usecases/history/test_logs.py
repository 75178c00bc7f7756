"""The log of a conversation as it is read: windows, entries and handles."""

from typing import Any

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import ConversationProjection, ConversationTurn
from commonhold.usecases.history import links
from commonhold.usecases.history.logs import LOGGED_TURNS, read_log
from tests.support.conversations import tell, user

LONG = "https://example.org/" + "p" * 60


class CountingStore(InMemoryStore):
    """Remembers how many turns were read, in which windows."""

    def __init__(self) -> None:
        super().__init__()
        self.windows: list[int] = []

    @property
    def turns_read(self) -> int:
        return sum(self.windows)

    async def read_turns(self, *args: Any, **window: Any) -> tuple[ConversationTurn, ...]:
        turns = await super().read_turns(*args, **window)
        self.windows.append(len(turns))
        return turns


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


def entry(last: int, text: str, *, span: int = 1) -> ConversationProjection:
    return ConversationProjection(turn=last, kind="log", text=text, span=span)


async def test_turns_entries_and_erasures_make_one_log(store: CountingStore) -> None:
    await tell(store, "c", "one", "two", "three", "four", "five")
    await store.append_projections("c", [entry(3, "what was said", span=2)])
    await store.redact_turns("c", turns=[5])
    assert await read_log(store, "c", through=5, budget=1000) == [
        "[1] USER: one | AGENT: Re: one",
        "[2-3] what was said",
        "[4] USER: four | AGENT: Re: four",
        "[5] [redacted]",
    ]
    assert await read_log(store, "c", through=1, budget=1000) == ["[1] USER: one | AGENT: Re: one"]
    assert await read_log(store, "c", through=0, budget=1000) == []


async def test_a_redacted_entry_keeps_its_numbers(store: CountingStore) -> None:
    await tell(store, "c", "one", "two")
    await store.append_projections("c", [entry(2, "secret", span=2)])
    await store.redact_turns("c", turns=[2])
    assert await read_log(store, "c", through=2, budget=1000) == ["[1-2]"]


@pytest.mark.parametrize("turns", [15, 16, 17, 47, 48, 49, 200])
async def test_no_turn_is_lost_between_windows(store: CountingStore, turns: int) -> None:
    await tell(store, "c", *map(str, range(1, turns + 1)))
    lines = await read_log(store, "c", through=turns, budget=100_000)
    assert [line.split(" |")[0] for line in lines] == [
        f"[{number}] USER: {number}" for number in range(1, turns + 1)
    ]


async def test_no_more_is_read_than_the_budget_shows(store: CountingStore) -> None:
    await tell(store, "c", *("w" * 100 for _ in range(400)))
    lines = await read_log(store, "c", through=400, budget=1000)
    assert lines[0] == "[1-396] (396 older turns)"
    assert store.turns_read == 8


async def test_turns_under_an_entry_are_not_read(store: CountingStore) -> None:
    await tell(store, "c", *map(str, range(100)))
    await store.append_projections("c", [entry(100, "all of it", span=100)])
    assert await read_log(store, "c", through=100, budget=1000) == ["[1-100] all of it"]
    assert store.turns_read == 0
    await tell(store, "c", "after")
    lines = await read_log(store, "c", through=101, budget=1000)
    assert lines == ["[1-100] all of it", "[101] USER: after | AGENT: Re: after"]
    assert store.windows == [1]


async def test_what_is_long_ago_is_folded(store: CountingStore) -> None:
    await tell(store, "c", *("x" for _ in range(LOGGED_TURNS + 7)))
    lines = await read_log(store, "c", through=LOGGED_TURNS + 7, budget=1_000_000)
    assert lines[0] == "[1-7] (7 older turns)"
    assert len(lines) == LOGGED_TURNS + 1


async def test_handles_are_numbered_from_the_first_turn(
    store: CountingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "FIRST_WINDOW", 2)
    others = [f"https://example.org/{letter * 40}" for letter in "abc"]
    for address in (*others, "plain", f"see {LONG}"):
        await store.append_turn("c", [user(address)])
    lines = await read_log(store, "c", through=5, budget=60)
    assert lines[-1] == "[5] USER: see [link c:4]"
    monkeypatch.setattr(links, "LINKED_TURNS", 4)
    assert (await read_log(store, "c", through=5, budget=200))[-1] == f"[5] USER: see {LONG}"
    monkeypatch.setattr(links, "LINKED_CHARACTERS", 100)
    lines = await read_log(store, "c", through=5, budget=400)
    assert lines[:3] == ["[1] USER: [link c:1]", "[2] USER: [link c:2]", f"[3] USER: {others[2]}"]


async def test_heavy_turns_are_read_a_few_at_a_time(store: CountingStore) -> None:
    await tell(store, "c", *("w " * 300_000 for _ in range(30)))
    lines = await read_log(store, "c", through=30, budget=100_000)
    assert len(lines) == 30
    assert store.windows == [8] + [1] * 22


async def test_light_turns_are_read_many_at_a_time(store: CountingStore) -> None:
    await tell(store, "c", *("x" for _ in range(400)))
    await read_log(store, "c", through=400, budget=100_000)
    assert store.windows == [8, 16, 32, 64, 128, 128, 24]
