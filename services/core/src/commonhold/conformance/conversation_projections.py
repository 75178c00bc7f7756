"""Projections: derived entries beside the turns, appended and read in order."""

import pytest

from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import (
    HUGE_NUMBERS,
    OTHER_THREAD,
    THREAD,
    UNSTORABLE_TEXTS,
    says,
)
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.stores import ConversationStore
from commonhold.contract.turns import ConversationProjection, ProjectionKind


def entry(
    turn: int, text: str, *, kind: ProjectionKind = "log", span: int = 1
) -> ConversationProjection:
    return ConversationProjection(turn=turn, kind=kind, text=text, span=span)


class ProjectionSlice(StoreSubject):
    """Part of ConversationStoreContract."""

    async def test_projections_start_empty(self, store: ConversationStore) -> None:
        await store.append_turn(THREAD, [says("x")])
        Rule("5", "a turn has no projections of its own").equal(
            await store.read_projections(THREAD), ()
        )

    async def test_kind_span_and_text_are_kept(self, store: ConversationStore) -> None:
        rule = Rule("5", "entries come back as they were appended")
        entries = (
            entry(1, "logged"),
            entry(2, "", kind="digest", span=2),
            entry(3, "---\r\n\N{GRINNING FACE}", kind="epoch", span=3),
        )
        await store.append_projections(THREAD, entries)
        rule.equal(await store.read_projections(THREAD), entries)

    async def test_entries_accumulate_in_turn_order(self, store: ConversationStore) -> None:
        rule = Rule("5", "read_projections orders by turn, over all batches")
        await store.append_projections(THREAD, [entry(10, "ten"), entry(2, "two")])
        await store.append_projections(THREAD, [entry(1, "one")])
        seen = [found.text for found in await store.read_projections(THREAD)]
        rule.equal(seen, ["one", "two", "ten"])

    async def test_ties_order_by_span_then_insertion(self, store: ConversationStore) -> None:
        rule = Rule("5", "entries of one turn order by span, then by insertion")
        await store.append_projections(
            THREAD,
            [
                entry(5, "wide", span=5),
                entry(5, "narrow first"),
                entry(5, "narrow second", kind="epoch"),
            ],
        )
        await store.append_projections(THREAD, [entry(5, "narrow third"), entry(4, "earlier")])
        seen = [found.text for found in await store.read_projections(THREAD)]
        expected = ["earlier", "narrow first", "narrow second", "narrow third", "wide"]
        rule.equal(seen, expected)

    async def test_nothing_is_deduplicated(self, store: ConversationStore) -> None:
        for _ in range(2):
            await store.append_projections(THREAD, [entry(1, "same"), entry(1, "same")])
        Rule("5", "projections are never updated and never deduplicated").equal(
            await store.read_projections(THREAD), (entry(1, "same"),) * 4
        )

    async def test_an_empty_batch_creates_nothing(self, store: ConversationStore) -> None:
        rule = Rule("5", "an empty batch is a no-op")
        await store.append_projections(THREAD, [])
        rule.equal(await store.read_projections(THREAD), ())
        rule.equal(await store.last_turn_number(THREAD), 0)

    async def test_after_and_limit_cut_the_entries(self, store: ConversationStore) -> None:
        rule = Rule("5", "read_projections answers entries above `after`, the first `limit`")
        for turn in (1, 2, 2, 3):
            await store.append_projections(THREAD, [entry(turn, str(turn))])
        for after, limit, expected in (
            (0, None, ["1", "2", "2", "3"]),
            (1, None, ["2", "2", "3"]),
            (2, None, ["3"]),
            (3, None, []),
            (0, 0, []),
            (0, 2, ["1", "2"]),
            (1, 1, ["2"]),
            (0, 9, ["1", "2", "2", "3"]),
        ):
            found = await store.read_projections(THREAD, after=after, limit=limit)
            rule.equal((after, limit, [one.text for one in found]), (after, limit, expected))
        for number in HUGE_NUMBERS:
            rule.equal(await store.read_projections(THREAD, after=number), ())
            rule.equal(len(await store.read_projections(THREAD, limit=number)), 4)

    async def test_conversations_have_their_own_entries(self, store: ConversationStore) -> None:
        await store.append_projections(THREAD, [entry(1, "mine")])
        rule = Rule("5", "projections belong to one conversation")
        rule.equal(await store.read_projections(OTHER_THREAD), ())
        rule.equal(await store.read_projections(THREAD), (entry(1, "mine"),))

    async def test_a_turn_never_written_may_be_projected(self, store: ConversationStore) -> None:
        rule = Rule("5", "the store never checks that a projected turn exists")
        await store.append_projections(THREAD, [entry(99, "ahead", span=99)])
        rule.equal(await store.read_projections(THREAD), (entry(99, "ahead", span=99),))
        rule.equal(await store.last_turn_number(THREAD), 0)
        rule.equal(await store.read_turns(THREAD), ())
        rule.equal((await store.append_turn(THREAD, [says("x")])).turn, 1)

    async def test_the_largest_turn_number_may_be_projected(self, store: ConversationStore) -> None:
        rule = Rule("4", "a projection's turn reaches 2147483647 and no further", "wire.md")
        last = entry(2**31 - 1, "last", span=2**31 - 1)
        await store.append_projections(THREAD, [last])
        for turn in HUGE_NUMBERS:
            with rule.refuses(ValueError):
                await store.append_projections(THREAD, [entry(1, "fine"), entry(turn, "beyond")])
        rule.equal(await store.read_projections(THREAD), (last,))

    @pytest.mark.parametrize("text", UNSTORABLE_TEXTS, ids=["nul", "surrogate"])
    async def test_a_batch_lands_whole_or_not_at_all(
        self, store: ConversationStore, text: str
    ) -> None:
        rule = Rule("5", "append_projections appends all entries or none")
        batch = (entry(1, "fine"), entry(2, text))
        try:
            await store.append_projections(THREAD, batch)
        except ValueError:
            rule.equal(await store.read_projections(THREAD), ())
            return
        rule.equal(await store.read_projections(THREAD), batch)
