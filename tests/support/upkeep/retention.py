"""Redact and prune over any store (docs/reference/maintenance.md, section 6)."""

from datetime import timedelta
from typing import Any

import pytest

from commonhold.conformance import ControlledClock
from commonhold.contract import ConversationStore, Erasable, MemoryStore, Message
from commonhold.usecases.upkeep.erasures import ConversationErasure, Selection, redact_conversation
from commonhold.usecases.upkeep.holds import Holds
from commonhold.usecases.upkeep.prunes import PruneReport, prune
from commonhold.usecases.upkeep.session_listings import DocumentName
from tests.support.upkeep.gardens import NOW, GardenCases

SHOP, CAFE = "user:ana/proj:shop", "user:ana/proj:cafe"
LATELY = NOW - timedelta(days=1)
ACTOR = "cli:local"


class Whole(MemoryStore, ConversationStore, Erasable):
    """What the cases ask of a store."""


async def say(store: Whole, conversation_id: str, *texts: str) -> None:
    for text in texts:
        await store.append_turn(conversation_id, [Message(role="user", content=text)])


async def said(store: Whole, conversation_id: str) -> list[str | None]:
    """What is left of each turn, None where it is blank."""
    turns = await store.read_turns(conversation_id)
    return [None if turn.redacted else str(turn.messages[0].content) for turn in turns]


async def record_session(store: Whole, scope: str, conversation_id: str) -> None:
    await store.write(scope, f"sessions/{conversation_id}", f"# session {conversation_id}")


async def is_blank(store: Whole, scope: str, conversation_id: str) -> bool:
    document = await store.read(scope, f"sessions/{conversation_id}")
    assert document is not None
    return document.redacted


async def acts(store: Whole) -> list[tuple[str, tuple[int, ...], str | None]]:
    found = await store.turn_redactions()
    return [(act.conversation_id, act.turns, act.actor) for act in found]


async def run_prune(store: Whole, clock: ControlledClock, **options: Any) -> PruneReport:
    clock.set(NOW)
    days = options.pop("days", 7)
    return await prune(
        store, older_than=timedelta(days=days), clock=clock, **{"actor": ACTOR, **options}
    )


def names(report: PruneReport) -> list[tuple[str, int]]:
    return [(one.conversation_id, one.turns) for one in report.conversations]


class RetentionCases(GardenCases):
    async def test_a_conversation_is_erased_with_its_sessions_in_every_scope(
        self, store: Whole
    ) -> None:
        await say(store, "chat-1", "one", "two", "three")
        await say(store, "chat-10", "mine")
        for scope in (SHOP, CAFE):
            await record_session(store, scope, "chat-1")
            await record_session(store, scope, "chat-10")
        erasure = await redact_conversation(store, "chat-1", actor=ACTOR)
        assert erasure == ConversationErasure(
            conversation_id="chat-1",
            count=3,
            documents=(
                DocumentName(CAFE, "sessions/chat-1"),
                DocumentName(SHOP, "sessions/chat-1"),
            ),
        )
        assert await said(store, "chat-1") == [None, None, None]
        assert await said(store, "chat-10") == ["mine"]
        for scope in (SHOP, CAFE):
            assert await is_blank(store, scope, "chat-1")
            assert not await is_blank(store, scope, "chat-10")
            assert [act.actor for act in await store.redactions(scope)] == [ACTOR]
        assert await acts(store) == [("chat-1", (1, 2, 3), ACTOR)]

    async def test_a_repeated_erasure_is_recorded_and_blanks_no_document_again(
        self, store: Whole
    ) -> None:
        await say(store, "chat-1", "one")
        await record_session(store, SHOP, "chat-1")
        await redact_conversation(store, "chat-1", actor=ACTOR)
        again = await redact_conversation(store, "chat-1", actor=ACTOR)
        assert (again.count, again.documents) == (1, ())
        assert len(await acts(store)) == 2
        assert len(await store.redactions(SHOP)) == 1

    @pytest.mark.parametrize(
        ("selection", "left"),
        [
            (Selection(through=2), [None, None, "three"]),
            (Selection(turns=(3, 1, 99)), [None, "two", None]),
            (Selection(turns=()), ["one", "two", "three"]),
        ],
    )
    async def test_a_part_leaves_the_rest_and_the_sessions(
        self, store: Whole, selection: Selection, left: list[str | None]
    ) -> None:
        await say(store, "chat-1", "one", "two", "three")
        await record_session(store, SHOP, "chat-1")
        erasure = await redact_conversation(store, "chat-1", selection=selection, actor=ACTOR)
        assert (erasure.count, erasure.documents) == (left.count(None), ())
        assert await said(store, "chat-1") == left
        assert not await is_blank(store, SHOP, "chat-1")

    async def test_an_unknown_conversation_matches_nothing(self, store: Whole) -> None:
        erasure = await redact_conversation(store, "nope", actor=ACTOR)
        assert (erasure.count, erasure.documents, erasure.unfinished) == (0, (), None)
        assert await acts(store) == []

    async def test_quiet_conversations_go_and_active_ones_are_never_cut(
        self, store: Whole, clock: ControlledClock
    ) -> None:
        await say(store, "quiet-b", "one", "two")
        await say(store, "quiet-a", "one")
        await say(store, "active", "long ago")
        await record_session(store, SHOP, "quiet-b")
        await record_session(store, SHOP, "active")
        clock.set(LATELY)
        await say(store, "active", "lately")
        report = await run_prune(store, clock)
        assert names(report) == [("quiet-a", 1), ("quiet-b", 2)]
        assert report.turns == 3
        assert report.documents == (DocumentName(SHOP, "sessions/quiet-b"),)
        assert report.cutoff == NOW - timedelta(days=7)
        assert await said(store, "active") == ["long ago", "lately"]
        assert await said(store, "quiet-b") == [None, None]
        assert await is_blank(store, SHOP, "quiet-b")
        assert not await is_blank(store, SHOP, "active")
        assert {actor for _, _, actor in await acts(store)} == {ACTOR}

    async def test_a_turn_at_the_cutoff_is_active(
        self, store: Whole, clock: ControlledClock
    ) -> None:
        cutoff = NOW - timedelta(days=7)
        clock.set(cutoff)
        await say(store, "at", "x")
        clock.set(cutoff - timedelta(microseconds=1))
        await say(store, "before", "x")
        assert names(await run_prune(store, clock)) == [("before", 1)]

    async def test_a_dry_run_plans_what_the_act_does_and_a_second_act_nothing(
        self, store: Whole, clock: ControlledClock
    ) -> None:
        await say(store, "chat-1", "one", "two")
        await say(store, "chat-2", "one")
        await record_session(store, SHOP, "chat-1")
        dry = await run_prune(store, clock, dry_run=True)
        assert dry.dry_run
        assert await acts(store) == []
        assert await said(store, "chat-1") == ["one", "two"]
        assert not await is_blank(store, SHOP, "chat-1")
        real = await run_prune(store, clock)
        assert (real.conversations, real.turns, real.documents) == (
            dry.conversations,
            dry.turns,
            dry.documents,
        )
        second = await run_prune(store, clock)
        assert (second.conversations, second.turns, second.documents) == ((), 0, ())
        assert len(await acts(store)) == 2
        assert len(await store.redactions(SHOP)) == 1

    async def test_turns_erased_one_by_one_are_not_erased_again(
        self, store: Whole, clock: ControlledClock
    ) -> None:
        await say(store, "chat-1", "one", "two")
        await store.redact_turns("chat-1", turns=[2])
        await say(store, "chat-2", *map(str, range(60)))
        for number in range(1, 61):
            await store.redact_turns("chat-2", turns=[number])
        assert names(await run_prune(store, clock)) == [("chat-1", 2)]

    async def test_what_an_interrupted_run_left_is_erased_by_the_next(
        self, store: Whole, clock: ControlledClock
    ) -> None:
        await say(store, "chat-1", "one")
        await record_session(store, SHOP, "chat-1")
        await store.redact_turns("chat-1")
        report = await run_prune(store, clock)
        assert (report.conversations, report.documents) == (
            (),
            (DocumentName(SHOP, "sessions/chat-1"),),
        )
        assert await is_blank(store, SHOP, "chat-1")

    async def test_held_conversations_stay_and_are_reported(
        self, store: Whole, clock: ControlledClock
    ) -> None:
        for name in ("case-1", "case-10", "chat"):
            await say(store, name, "x")
            await record_session(store, SHOP, name)
        report = await run_prune(store, clock, holds=Holds(conversations=("case-1",)))
        assert names(report) == [("chat", 1)]
        assert [(one.conversation_id, one.reason) for one in report.spared] == [
            ("case-1", "legal hold"),
            ("case-10", "legal hold"),
        ]
        assert await said(store, "case-10") == ["x"]
        assert not await is_blank(store, SHOP, "case-1")

    @pytest.mark.parametrize("dry_run", [False, True])
    async def test_a_held_scope_keeps_its_session_documents(
        self, store: Whole, clock: ControlledClock, *, dry_run: bool
    ) -> None:
        await say(store, "chat", "x")
        for scope in (SHOP, CAFE):
            await record_session(store, scope, "chat")
        report = await run_prune(store, clock, holds=Holds(scopes=(SHOP,)), dry_run=dry_run)
        assert names(report) == [("chat", 1)]
        assert report.documents == (DocumentName(CAFE, "sessions/chat"),)
        assert [(one.scope, one.path) for one in report.kept] == [(SHOP, "sessions/chat")]
        assert not await is_blank(store, SHOP, "chat")
        assert await is_blank(store, CAFE, "chat") is not dry_run

    async def test_only_the_named_prefixes_are_pruned(
        self, store: Whole, clock: ControlledClock
    ) -> None:
        for name in ("bot-1", "bot_1", "user-1", "a-bot-1"):
            await say(store, name, "x")
        assert names(await run_prune(store, clock, prefixes=["bot-", "user-"])) == [
            ("bot-1", 1),
            ("user-1", 1),
        ]
        assert names(await run_prune(store, clock, prefixes=[])) == []

    async def test_a_conversation_that_moved_after_the_plan_survives_whole(
        self, store: Whole, clock: ControlledClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await say(store, "a", "x")
        await say(store, "b", "one", "two")
        await record_session(store, SHOP, "b")
        # The plan is made; the first erasure of the act is when the other one moves.
        erase = store.redact_turns

        async def erase_while_somebody_speaks(name: str, **options: Any) -> int:
            await say(store, "b", "three")
            return await erase(name, **options)

        monkeypatch.setattr(store, "redact_turns", erase_while_somebody_speaks)
        report = await run_prune(store, clock)
        assert names(report) == [("a", 1)]
        assert [(one.conversation_id, one.reason) for one in report.spared] == [
            ("b", "changed underneath")
        ]
        assert await said(store, "b") == ["one", "two", "three"]
        assert not await is_blank(store, SHOP, "b")

    async def test_a_turn_that_comes_during_the_erasure_survives(
        self, store: Whole, clock: ControlledClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await say(store, "a", "one", "two")
        erase = store.redact_turns

        async def erase_after_somebody_spoke(name: str, **options: Any) -> int:
            await say(store, "a", "three")
            return await erase(name, **options)

        monkeypatch.setattr(store, "redact_turns", erase_after_somebody_spoke)
        assert (await run_prune(store, clock)).turns == 2
        assert await said(store, "a") == [None, None, "three"]

    async def test_ages_beyond_the_calendar_find_nothing(
        self, store: Whole, clock: ControlledClock
    ) -> None:
        await say(store, "a", "x")
        assert names(await run_prune(store, clock, days=999_999)) == []
