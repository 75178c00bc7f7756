"""The kit of the eraser (docs/reference/stores.md, section 5, Eraser)."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

import pytest

from commonhold.conformance.clocks import ControlledClock
from commonhold.conformance.conversation_projections import entry
from commonhold.conformance.memory_ledger import EARLIEST, FAR_EAST, LATEST, NAIVE
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import (
    BAD_CONVERSATION_IDS,
    HUGE_NUMBERS,
    NEVER_WRITTEN,
    OTHER_THREAD,
    THREAD,
    UNSTORABLE_TEXTS,
    says,
)
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.errors import ConversationIdInvalidError
from commonhold.contract.stores import ConversationStore, Erasable
from commonhold.contract.turns import ConversationRedaction

AN_HOUR = timedelta(hours=1)


class ErasableStore(ConversationStore, Erasable, Protocol):
    """What the kit needs of a store."""


class ErasureContract(StoreSubject):
    """What every Erasable store does. A subclass gives the fixture `store`."""

    async def test_the_store_is_erasable(self, store: ErasableStore) -> None:
        Rule("3", "every method of Erasable is there").holds(isinstance(store, Erasable), store)

    async def test_everything_is_blanked_but_the_skeleton(self, store: ErasableStore) -> None:
        rule = Rule("5", "a redacted turn keeps number, created_at, actor; messages go")
        await self._append(store, 3)
        before = await store.read_turns(THREAD)
        rule.equal(await store.redact_turns(THREAD, actor="eraser"), 3)
        after = await store.read_turns(THREAD)
        rule.equal([(turn.messages, turn.redacted) for turn in after], [((), True)] * 3)
        rule.equal(
            [(turn.turn, turn.created_at, turn.actor) for turn in after],
            [(turn.turn, turn.created_at, turn.actor) for turn in before],
        )
        rule.equal(await store.last_turn_number(THREAD), 3)

    async def test_an_act_names_the_turns_ascending(
        self, store: ErasableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("5", "a redaction that matched is an act: turns ascending, actor, now")
        await self._append(store, 4)
        now = clock.next_reading
        await store.redact_turns(THREAD, turns=[4, 2, 4], actor="eraser")
        expected = ConversationRedaction(
            conversation_id=THREAD,
            turns=(2, 4),
            actor=self.recorded_actor("eraser"),
            created_at=now,
        )
        (act,) = await store.turn_redactions()
        rule.equal((act, act.count), (expected, 2))

    async def test_through_blanks_a_prefix(self, store: ErasableStore) -> None:
        rule = Rule("5", "`through=n` selects turns 1 to n")
        await self._append(store, 4)
        rule.equal(await store.redact_turns(THREAD, through=2), 2)
        rule.equal(await _flags(store), [True, True, False, False])
        for through in (4, 9, *HUGE_NUMBERS):
            rule.equal((through, await store.redact_turns(THREAD, through=through)), (through, 4))
        rule.equal(await _flags(store), [True] * 4)

    async def test_named_turns_are_deduplicated_and_may_be_unknown(
        self, store: ErasableStore
    ) -> None:
        rule = Rule("5", "`turns` selects the named ones, once each; unknown numbers match nothing")
        await self._append(store, 4)
        rule.equal(await store.redact_turns(THREAD, turns=[3, 1, 3, 9, *HUGE_NUMBERS]), 2)
        rule.equal(await _flags(store), [True, False, True, False])
        (act,) = await store.turn_redactions()
        rule.equal(act.turns, (1, 3))

    @pytest.mark.parametrize(
        "turns", [[], [9], list(HUGE_NUMBERS)], ids=["none", "unknown", "huge"]
    )
    async def test_selecting_nothing_is_zero_and_silent(
        self, store: ErasableStore, turns: list[int]
    ) -> None:
        rule = Rule("5", "a selection that matches nothing answers 0 and records no act")
        await self._append(store, 2)
        rule.equal(await store.redact_turns(THREAD, turns=turns), 0)
        rule.equal(await _flags(store), [False, False])
        rule.equal(await store.turn_redactions(), ())

    async def test_bad_selectors_change_nothing(self, store: ErasableStore) -> None:
        rule = Rule("5", "selectors are checked: not both, through >= 1, numbers from 1")
        await self._append(store, 2)
        selections: tuple[tuple[int | None, Sequence[int] | None, str], ...] = (
            (1, [1], "give through= or turns=, not both"),
            (0, [], "give through= or turns=, not both"),
            (0, None, "through must be >= 1, got 0"),
            (-(2**100), None, f"through must be >= 1, got {-(2**100)}"),
            (None, [1, 0], "turn numbers start at 1, got 0"),
            (None, [0, -3, 2], "turn numbers start at 1, got -3"),
        )
        for through, turns, message in selections:
            with rule.refuses(ValueError, saying=message):
                await store.redact_turns(THREAD, through=through, turns=turns)
        rule.equal(await _flags(store), [False, False])
        rule.equal(await store.turn_redactions(), ())

    @pytest.mark.parametrize("text", UNSTORABLE_TEXTS, ids=["nul", "surrogate"])
    async def test_an_actor_that_cannot_be_kept_is_refused_whole(
        self, store: ErasableStore, text: str
    ) -> None:
        rule = Rule(
            "4", "text that cannot be stored is refused before anything is written", "wire.md"
        )
        await self._append(store, 1)
        try:
            await store.redact_turns(THREAD, actor=text)
        except ValueError:
            rule.equal(await _flags(store), [False])
            rule.equal(await store.turn_redactions(), ())

    async def test_an_unknown_conversation_is_zero(self, store: ErasableStore) -> None:
        rule = Rule("5", "an unknown conversation answers 0, and nothing is recorded")
        rule.equal(await store.redact_turns(NEVER_WRITTEN), 0)
        rule.equal(await store.redact_turns(NEVER_WRITTEN, through=3), 0)
        rule.equal(await store.turn_redactions(), ())
        await store.append_projections(THREAD, [entry(1, "kept")])
        rule.equal(await store.redact_turns(THREAD), 0)
        rule.equal(await store.read_projections(THREAD), (entry(1, "kept"),))

    async def test_repeating_counts_the_same_and_adds_an_act(self, store: ErasableStore) -> None:
        rule = Rule("5", "already redacted turns count; each repetition is an act")
        await self._append(store, 3)
        rule.equal([await store.redact_turns(THREAD, through=2) for _ in range(2)], [2, 2])
        rule.equal([act.turns for act in await store.turn_redactions()], [(1, 2), (1, 2)])
        rule.equal(await store.redact_turns(THREAD), 3)

    async def test_search_forgets_and_the_rest_is_still_found(self, store: ErasableStore) -> None:
        rule = Rule("5", "a redacted turn has no searchable text")
        for text in ("secret one", "public one", "secret two"):
            await store.append_turn(THREAD, [says(text)])
        await store.append_turn(OTHER_THREAD, [says("secret elsewhere")])
        await store.redact_turns(THREAD, turns=[1, 3])
        found = await store.search_turns("secret")
        rule.equal([(turn.conversation_id, turn.turn) for turn in found], [(OTHER_THREAD, 1)])
        rule.equal([turn.turn for turn in await store.search_turns("public")], [2])
        (kept,) = await store.read_turns(THREAD, after=1, limit=1)
        rule.equal((kept.messages, kept.redacted), ((says("public one"),), False))

    async def test_covering_projections_lose_their_text_only(self, store: ErasableStore) -> None:
        rule = Rule("5", "an entry whose turns meet the redacted ones gets text '', and stays")
        await self._append(store, 6)
        entries = (
            entry(1, "one"),
            entry(2, "two"),
            entry(3, "up to three", kind="digest", span=2),
            entry(4, "just after", span=1),
            entry(5, "over it", kind="epoch", span=5),
            entry(6, "from four", kind="digest", span=3),
            entry(9, "far wide", span=7),
            entry(9, "wide", span=8),
        )
        await store.append_projections(THREAD, entries)
        await store.append_projections(OTHER_THREAD, [entry(2, "elsewhere")])
        rule.equal(await store.redact_turns(THREAD, turns=[2, 9]), 1)
        blank = {"two", "up to three", "over it", "wide"}
        expected = tuple(
            entry(one.turn, "" if one.text in blank else one.text, kind=one.kind, span=one.span)
            for one in entries
        )
        rule.equal(await store.read_projections(THREAD), expected)
        rule.equal(await store.read_projections(OTHER_THREAD), (entry(2, "elsewhere"),))

    async def test_a_projection_appended_afterwards_keeps_its_text(
        self, store: ErasableStore
    ) -> None:
        rule = Rule("5", "a projection appended after a redaction keeps its text")
        await self._append(store, 1)
        await store.redact_turns(THREAD)
        await store.append_projections(THREAD, [entry(1, "later")])
        rule.equal(await store.read_projections(THREAD), (entry(1, "later"),))

    async def test_the_trail_is_newest_first_over_the_whole_store(
        self, store: ErasableStore
    ) -> None:
        rule = Rule("5", "turn_redactions: the whole store, newest first")
        for name in (THREAD, OTHER_THREAD):
            await store.append_turn(name, [says("x")])
        for name in (THREAD, OTHER_THREAD, THREAD):
            await store.redact_turns(name)
        seen = [act.conversation_id for act in await store.turn_redactions()]
        rule.equal(seen, [THREAD, OTHER_THREAD, THREAD])
        stamps = [act.created_at for act in await store.turn_redactions()]
        rule.equal(stamps, sorted(stamps, reverse=True))

    async def test_equal_stamps_order_by_id_then_place_in_the_trail(
        self, store: ErasableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("5", "trail order: created_at desc, id desc by code point, position desc")
        clock.step *= 0
        for name in ("b", "_", "B"):
            await store.append_turn(name, [says("x")])
            await store.append_turn(name, [says("y")])
        for name in ("B", "_", "b"):
            await store.redact_turns(name, turns=[1])
        for name in ("b", "B", "_"):
            await store.redact_turns(name, turns=[2])
        seen = [(act.conversation_id, act.turns) for act in await store.turn_redactions()]
        rule.equal(seen, [(name, (number,)) for name in ("b", "_", "B") for number in (2, 1)])

    async def test_ids_since_and_limit_cut_the_trail(self, store: ErasableStore) -> None:
        rule = Rule("5", "the trail is narrowed by ids (each once), since (inclusive) and limit")
        for name in (THREAD, OTHER_THREAD, THREAD):
            await store.append_turn(name, [says("x")])
            await store.redact_turns(name)
        trail = await store.turn_redactions()
        rule.equal(len(trail), 3)
        mine = (trail[0], trail[2])
        rule.equal(await store.turn_redactions(conversations=[THREAD, THREAD]), mine)
        rule.equal(
            await store.turn_redactions(conversations=[NEVER_WRITTEN, OTHER_THREAD]), trail[1:2]
        )
        rule.equal(await store.turn_redactions(conversations=()), ())
        rule.equal(await store.turn_redactions(conversations=[THREAD], limit=1), trail[:1])
        for place, act in enumerate(trail):
            for since in (act.created_at, act.created_at.astimezone(FAR_EAST)):
                rule.equal(await store.turn_redactions(since=since), trail[: place + 1])
            later = act.created_at + timedelta(microseconds=1)
            rule.equal(await store.turn_redactions(since=later), trail[:place])
        rule.equal(await store.turn_redactions(since=EARLIEST), trail)
        rule.equal(await store.turn_redactions(since=LATEST), ())
        for limit in (1, 2, 3, 4, *HUGE_NUMBERS):
            rule.equal(await store.turn_redactions(limit=limit), trail[:limit])

    async def test_the_trail_answers_fifty_by_default(self, store: ErasableStore) -> None:
        await self._append(store, 1)
        for _ in range(51):
            await store.redact_turns(THREAD)
        rule = Rule("1", "the default trail limit is 50")
        rule.equal(len(await store.turn_redactions()), 50)
        rule.equal(len(await store.turn_redactions(limit=100)), 51)

    async def test_a_bad_window_is_refused(self, store: ErasableStore) -> None:
        rule = Rule("5", "turn_redactions checks ids, then a naive since, then limit < 1")
        with rule.refuses(ConversationIdInvalidError, conversation_id="a/b"):
            await store.turn_redactions(conversations=[THREAD, "a/b"], since=NAIVE, limit=0)
        for ids in (None, (), [THREAD]):
            with rule.refuses(ValueError, saying="timezone-aware"):
                await store.turn_redactions(conversations=ids, since=NAIVE, limit=0)
            for limit in (0, -1, -(2**100)):
                with rule.refuses(ValueError, saying=f"limit must be >= 1, got {limit}"):
                    await store.turn_redactions(conversations=ids, limit=limit)

    async def test_appending_continues_the_numbers(self, store: ErasableStore) -> None:
        rule = Rule("5", "appends continue the numbering, and only what was there is blank")
        await self._append(store, 2)
        await store.redact_turns(THREAD)
        rule.equal((await store.append_turn(THREAD, [says("new")])).turn, 3)
        rule.equal(await _flags(store), [True, True, False])
        rule.equal([turn.turn for turn in await store.search_turns("new")], [3])

    @pytest.mark.parametrize("name", BAD_CONVERSATION_IDS)
    async def test_a_bad_id_is_refused(self, store: ErasableStore, name: str) -> None:
        rule = Rule("9", "the id is checked before the selectors", "grammar.md")
        with rule.refuses(ConversationIdInvalidError, conversation_id=name):
            await store.redact_turns(name, through=0, turns=[0])
        with rule.refuses(ConversationIdInvalidError, conversation_id=name):
            await store.turn_redactions(conversations=[name])

    async def test_an_act_is_not_older_than_what_it_blanks(
        self, store: ErasableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "an act is clamped to the newest stamp of its conversation")
        made = await store.append_turn(THREAD, [says("x")])
        clock.set(made.created_at - AN_HOUR)
        await store.redact_turns(THREAD)
        (act,) = await store.turn_redactions()
        rule.equal(act.created_at, made.created_at)

    async def test_a_turn_after_an_act_is_not_older_than_the_act(
        self, store: ErasableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "what follows an erasure is not stamped before it")
        made = await store.append_turn(THREAD, [says("x")])
        clock.set(made.created_at + AN_HOUR)
        await store.redact_turns(THREAD)
        clock.set(made.created_at)
        after = await store.append_turn(THREAD, [says("x")])
        rule.equal(after.created_at, made.created_at + AN_HOUR)

    async def test_a_redaction_reads_the_clock_once(
        self, store: ErasableStore, clock: ControlledClock
    ) -> None:
        await self._append(store, 1)
        before = clock.readings
        await store.redact_turns(THREAD)
        Rule("13", "one clock reading a call").equal(clock.readings - before, 1)

    async def test_an_erasure_is_not_stopped_by_a_newer_turn(self, store: ErasableStore) -> None:
        rule = Rule("4", "an erasure is never stopped by a format marker")
        await self._append(store, 2)
        await self.plant_newer_turn(store, THREAD, 1)
        rule.equal(await store.redact_turns(THREAD), 2)
        (kept,) = await store.read_turns(THREAD, after=1)
        rule.equal((kept.messages, kept.redacted), ((), True))

    async def test_a_racing_redaction_leaves_no_older_turn(self, store: ErasableStore) -> None:
        rule = Rule("5", "a redaction of all turns blanks every turn from before it")
        for number in range(6):
            name = f"race-{number}"
            await store.append_turn(name, [says("secret")])
            await asyncio.gather(
                *(store.append_turn(name, [says("secret")]) for _ in range(3)),
                store.redact_turns(name),
                *(store.append_turn(name, [says("secret")]) for _ in range(3)),
            )
            turns = await store.read_turns(name)
            flags = [turn.redacted for turn in turns]
            rule.equal([turn.turn for turn in turns], list(range(1, 8)))
            rule.holds(flags[0], flags)
            rule.equal(flags, sorted(flags, reverse=True))
            (act,) = await store.turn_redactions(conversations=[name])
            rule.equal(act.turns, tuple(range(1, flags.count(True) + 1)))

    async def _append(self, store: ErasableStore, count: int) -> None:
        for number in range(1, count + 1):
            await store.append_turn(THREAD, [says(f"message {number}")], actor=f"by {number}")


async def _flags(store: ErasableStore) -> list[bool]:
    return [turn.redacted for turn in await store.read_turns(THREAD)]
