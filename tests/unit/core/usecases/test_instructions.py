"""Instructions: their blocks, their budgets, and that no store keeps a client out."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock
from commonhold.conformance.clocks import START
from commonhold.contract import Outline, StoreUnavailableError
from commonhold.usecases.history.contexts import Reach
from commonhold.usecases.instructions import (
    INDEX_UNAVAILABLE,
    PAST_BUDGET,
    PAST_UNAVAILABLE,
    Variant,
    render_instructions,
)
from tests.support.conversations import tell
from tests.support.history_callers import SCOPE, Reader, record_session
from tests.support.memory_callers import HANDBOOK, PROJECT

NOTE = "Next: tag v2."


@pytest.fixture
def clock() -> ControlledClock:
    return ControlledClock()


@pytest.fixture
def store(clock: ControlledClock) -> InMemoryStore:
    return InMemoryStore(clock=clock)


@pytest.fixture
def ana(store: InMemoryStore, clock: ControlledClock) -> Reader:
    return Reader(store, PROJECT, HANDBOOK, clock=clock)


async def rendered(reader: Reader, variant: Variant = "full", **options: Any) -> str:
    return await render_instructions(
        reader.context.memory, reader.context, variant=variant, **options
    )


async def test_the_blocks_stand_in_their_order(store: InMemoryStore, ana: Reader) -> None:
    await store.write(SCOPE, "design", "x")
    await ana.hand_off(NOTE)
    await tell(store, "chat-1", "first")
    await record_session(store, "chat-1")
    text = await rendered(ana)
    parts = [
        "persistent memory",
        "Never store a secret",
        "load_skill",
        "ends in a count",
        "## /project\n- /project/design\n",
        (
            "[handoff note from client:ana/mcp:gateway, written 2030-01-02 03:04 UTC; "
            f"to pick it up, call continue_session()]\n{NOTE}\n[end of the handoff note]\n\n"
            "Where we left off"
        ),
        "Conversation chat-1, last written by -:\n[1] USER: first | AGENT: Re: first\n",
        "recall_turn(n",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "\n\n\n" not in text


async def test_without_conversations_nothing_is_said_of_them(ana: Reader) -> None:
    for variant in ("full", "discipline"):
        text = await render_instructions(ana.context.memory, variant=variant)
        assert "recall_turn" not in text


async def test_the_discipline_alone_reads_nothing() -> None:
    text = await rendered(Reader(Broken()), "discipline")
    assert "Never store a secret" in text
    assert "##" not in text
    for tool in ("search_history", "recall_turn", "continue_session", "handoff"):
        assert tool in text


async def test_what_was_written_is_in_the_next_and_what_was_erased_is_not(
    store: InMemoryStore, ana: Reader
) -> None:
    await tell(store, "chat-1", "the secret word")
    await record_session(store, "chat-1")
    await ana.hand_off("the secret note")
    assert (await rendered(ana)).count("the secret") == 3
    await store.redact_turns("chat-1")
    await store.redact(SCOPE, path="handoff")
    text = await rendered(ana)
    assert "the secret" not in text
    assert "[1] [redacted]" in text


class Broken(InMemoryStore):
    """A store that is away."""

    async def outline(self, scope: str, *, excluding: Sequence[str] = (), newest: int) -> Outline:
        raise StoreUnavailableError("away")


class Hanging(InMemoryStore):
    """A store that never answers."""

    async def outline(self, scope: str, *, excluding: Sequence[str] = (), newest: int) -> Outline:
        await asyncio.Event().wait()
        raise AssertionError


class Forgetful(InMemoryStore):
    """A store whose conversations are away."""

    async def last_turn_number(self, conversation_id: str) -> int:
        raise StoreUnavailableError("away")


@pytest.mark.parametrize("store", [Broken(), Hanging()], ids=["away", "hanging"])
async def test_a_store_that_fails_costs_the_index_alone(store: InMemoryStore) -> None:
    with capture_logs() as logs:
        text = await rendered(Reader(store), deadline_seconds=0.05)
    assert "Never store a secret" in text
    assert text.endswith(f"\n\n{INDEX_UNAVAILABLE}")
    assert [entry["event"] for entry in logs] == ["instructions_degraded"]


async def test_conversations_that_fail_leave_the_index() -> None:
    store = Forgetful()
    await record_session(store, "chat-1")
    with capture_logs():
        text = await rendered(Reader(store))
    assert "- /project/sessions/chat-1\n" in text
    assert text.endswith(PAST_UNAVAILABLE)


async def test_a_note_grows_old(clock: ControlledClock, ana: Reader) -> None:
    await ana.hand_off(NOTE)
    written = START
    clock.set(written + timedelta(days=7) - timedelta(seconds=1))
    assert NOTE in await rendered(ana)
    clock.set(written + timedelta(days=7, seconds=1))
    text = await rendered(ana)
    assert NOTE not in text
    assert (
        "[handoff note from client:ana/mcp:gateway, written 2030-01-02 03:04 UTC; to pick it up, "
        "call continue_session(); it is at /project/handoff]\n\n"
    ) in text
    await ana.go_on()
    assert "[handoff note" not in await rendered(ana)


async def test_a_note_too_long_for_its_room_is_one_line(store: InMemoryStore, ana: Reader) -> None:
    await ana.hand_off(NOTE)
    document = await store.read(SCOPE, "handoff")
    assert document is not None
    await store.write(SCOPE, "handoff", document.content + "w " * PAST_BUDGET)
    text = await rendered(ana)
    assert NOTE not in text
    assert "continue_session(); it is at /project/handoff]" in text


async def test_a_linked_note_names_its_conversation_within_reach_only(
    store: InMemoryStore, ana: Reader
) -> None:
    await ana.hand_off(NOTE)
    document = await store.read(SCOPE, "handoff")
    assert document is not None
    linked = document.content.replace("pending\n", "pending\n- conversation: chat-9\n")
    await store.write(SCOPE, "handoff", linked)
    assert 'call continue_session(conversation="chat-9")]\n' in await rendered(ana)
    fenced = await rendered(Reader(store, reach=Reach(("ana-",))))
    assert "chat-9" not in fenced
    assert "see /project/handoff]" in fenced


async def test_the_note_and_the_sessions_share_their_room(
    store: InMemoryStore, clock: ControlledClock
) -> None:
    ana = Reader(store, clock=clock)
    await ana.hand_off("n" * 2048)
    for name in ("c1", "c2", "c3"):
        for number in range(60):
            await tell(store, name, f"{name} {number} " + "w" * 500)
        await record_session(store, name)
    text = await rendered(ana)
    past = text[text.index("[handoff note") :]
    assert PAST_BUDGET - 3 * 710 <= len(past) <= PAST_BUDGET
    assert past.count("older turns)") == 3
    assert past.count("\n[60] USER: ") == 3


async def test_the_newest_three_sessions_are_shown_and_none_in_the_place_of_an_empty_one(
    store: InMemoryStore, ana: Reader
) -> None:
    for name in ("c1", "c2", "c3", "erased"):
        await tell(store, name, "hello")
        await record_session(store, name)
    await record_session(store, "empty")
    await store.redact(SCOPE, path="sessions/erased")
    text = await rendered(ana)
    shown = [line.split(",")[0] for line in text.split("\n") if line.startswith("Conversation ")]
    assert shown == ["Conversation c3", "Conversation c2"]
    fenced = await rendered(Reader(store, reach=Reach(("c1", "c2"))))
    assert "Conversation c2" in fenced
    assert "Conversation c1" in fenced
    assert "Conversation c3" not in fenced


async def test_a_fence_of_nothing_shows_no_session(store: InMemoryStore, ana: Reader) -> None:
    await tell(store, "c1", "hello")
    await record_session(store, "c1")
    assert "(none recorded yet)" in await rendered(Reader(store, reach=Reach(())))
    assert "(none recorded yet)" not in await rendered(ana)


async def test_a_malformed_mailbox_record_disturbs_nothing(
    store: InMemoryStore, ana: Reader
) -> None:
    await store.write(SCOPE, "messages/m", "\x01 not a record")
    await tell(store, "c1", "hello")
    assert "Where we left off" in await rendered(ana)
    assert (await ana.recall(1, "c1")).success
    assert (await ana.search("hello")).success
