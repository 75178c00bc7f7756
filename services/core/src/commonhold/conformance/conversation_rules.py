"""Bad ids, stamps that never run backwards, and rows of a newer format."""

from datetime import timedelta

import pytest

from commonhold.conformance.clocks import STEP, ControlledClock
from commonhold.conformance.conversation_projections import entry
from commonhold.conformance.memory_grammar import Calls
from commonhold.conformance.memory_ledger import NAIVE
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import BAD_CONVERSATION_IDS, OTHER_THREAD, THREAD, says
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.errors import ConversationFormatError, ConversationIdInvalidError
from commonhold.contract.stores import ConversationStore

AN_HOUR = timedelta(hours=1)


class ConversationIdSlice(StoreSubject):
    """Part of ConversationStoreContract."""

    @pytest.mark.parametrize("name", BAD_CONVERSATION_IDS)
    async def test_a_bad_id_is_refused_by_every_method(
        self, store: ConversationStore, name: str
    ) -> None:
        rule = Rule("9", "every method checks the id before anything else", "grammar.md")
        calls: Calls = {
            "append_turn": lambda: store.append_turn(name, []),
            "read_turns": lambda: store.read_turns(name, after=-1, limit=-1),
            "last_turn_number": lambda: store.last_turn_number(name),
            "append_projections": lambda: store.append_projections(name, [entry(1, "x")]),
            "append nothing": lambda: store.append_projections(name, []),
            "read_projections": lambda: store.read_projections(name, after=-1, limit=-1),
            "search_turns": lambda: store.search_turns("x", conversations=[THREAD, name], limit=0),
        }
        for call in calls.values():
            with rule.refuses(ConversationIdInvalidError, conversation_id=name):
                await call()

    @pytest.mark.parametrize("name", ["c1", "conv-1.2_3", "A", "...", "..x", "-", "a" * 128])
    async def test_a_good_id_is_accepted(self, store: ConversationStore, name: str) -> None:
        made = await store.append_turn(name, [says("x")])
        rule = Rule("3", "what the id grammar allows is an id", "grammar.md")
        rule.equal((made.conversation_id, await store.read_turns(name)), (name, (made,)))


class ConversationStampSlice(StoreSubject):
    """Part of ConversationStoreContract."""

    async def test_stamps_are_the_clocks_in_utc(
        self, store: ConversationStore, clock: ControlledClock
    ) -> None:
        rule = Rule("4", "stamps are the clock's own, in UTC, with their microseconds")
        now = clock.next_reading
        made = await store.append_turn(THREAD, [says("x")])
        (read,) = await store.read_turns(THREAD)
        for turn in (made, read):
            rule.equal((turn.created_at, turn.created_at.utcoffset()), (now, timedelta()))

    async def test_an_append_reads_the_clock_once(
        self, store: ConversationStore, clock: ControlledClock
    ) -> None:
        before = clock.readings
        await store.append_turn(THREAD, [says("x")])
        Rule("13", "one clock reading a call").equal(clock.readings - before, 1)

    async def test_a_naive_clock_is_refused_without_effect(
        self, store: ConversationStore, clock: ControlledClock
    ) -> None:
        rule = Rule("4", "a naive clock reading is a value error, and nothing changes")
        clock.set(NAIVE)
        with rule.refuses(ValueError):
            await store.append_turn(THREAD, [says("x")])
        rule.equal(await store.read_turns(THREAD), ())
        rule.equal(await store.last_turn_number(THREAD), 0)

    async def test_stamps_never_run_backwards(
        self, store: ConversationStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "a stamp is clamped to the newest stamp of its conversation")
        clock.step = -STEP
        first = await store.append_turn(THREAD, [says("one")])
        second = await store.append_turn(THREAD, [says("two")])
        rule.equal(second.created_at, first.created_at)
        clock.set(first.created_at - AN_HOUR)
        await store.append_turn(THREAD, [says("three")])
        stamps = [turn.created_at for turn in await store.read_turns(THREAD)]
        rule.equal(stamps, [first.created_at] * 3)

    async def test_a_clamped_conversation_follows_the_clock_again(
        self, store: ConversationStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "a newest stamp holds until the clock passes it")
        first = await store.append_turn(THREAD, [says("one")])
        clock.set(first.created_at - AN_HOUR)
        await store.append_turn(THREAD, [says("two")])
        later = first.created_at + STEP
        clock.set(later)
        rule.equal((await store.append_turn(THREAD, [says("three")])).created_at, later)

    async def test_conversations_are_clamped_apart(
        self, store: ConversationStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "a stamp is clamped to its own conversation only")
        ahead = await store.append_turn(THREAD, [says("one")])
        behind = ahead.created_at - AN_HOUR
        clock.set(behind)
        made = await store.append_turn(OTHER_THREAD, [says("two")])
        rule.equal(made.created_at, behind)


class ConversationFormatSlice(StoreSubject):
    """Part of ConversationStoreContract."""

    async def test_a_newer_turn_is_refused(self, store: ConversationStore) -> None:
        await self._append_two(store)
        await self.plant_newer_turn(store, THREAD, 1)
        await self._check_turns_refused(store, "a turn of another format is refused, never skipped")

    async def test_a_malformed_turn_is_refused(self, store: ConversationStore) -> None:
        await self._append_two(store)
        await self.plant_malformed_turn(store, THREAD, 1)
        await self._check_turns_refused(store, "a turn without a message array is refused")

    async def test_a_newer_projection_is_refused(self, store: ConversationStore) -> None:
        await store.append_projections(THREAD, [entry(1, "planted"), entry(2, "fine")])
        await self.plant_newer_projection(store, THREAD, 1)
        await self._check_projections_refused(store, "an entry of another format is refused")

    async def test_a_malformed_projection_is_refused(self, store: ConversationStore) -> None:
        await store.append_projections(THREAD, [entry(1, "planted"), entry(2, "fine")])
        await self.plant_malformed_projection(store, THREAD, 1)
        await self._check_projections_refused(store, "an entry of no known kind is refused")

    async def _append_two(self, store: ConversationStore) -> None:
        for name in (THREAD, THREAD, OTHER_THREAD):
            await store.append_turn(name, [says("findable")])

    async def _check_turns_refused(self, store: ConversationStore, text: str) -> None:
        rule = Rule("5", text)
        with rule.refuses(ConversationFormatError, conversation_id=THREAD):
            await store.read_turns(THREAD)
        rule.equal([turn.turn for turn in await store.read_turns(OTHER_THREAD)], [1])

    async def _check_projections_refused(self, store: ConversationStore, text: str) -> None:
        rule = Rule("5", text)
        with rule.refuses(ConversationFormatError, conversation_id=THREAD):
            await store.read_projections(THREAD)
