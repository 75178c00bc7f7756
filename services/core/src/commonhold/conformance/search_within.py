"""The kit of search fenced by prefixes (docs/reference/stores.md, section 14).

Run it once more with `clock` overridden by a FrozenClock: the order of equal stamps is
then seen.
"""

from collections.abc import Sequence
from typing import Protocol

from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import HUGE_NUMBERS, NEVER_WRITTEN, says
from commonhold.conformance.search import BLANK_QUERIES
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.errors import ConversationFormatError
from commonhold.contract.stores import ConversationStore, SearchableWithin

# Ids that a pattern, a case or a hasty comparison would confuse.
IDS = ("a_b-1", "axb-1", "A_b-1", "a.b-1", "a_b", "a_", "a", "b", "ba_b", "-a", "Z")
FENCES: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (["a_b"], ["a_b-1", "a_b"]),
    (["a_"], ["a_b-1", "a_b", "a_"]),
    (["a"], ["a_b-1", "axb-1", "a.b-1", "a_b", "a_", "a"]),
    (["A"], ["A_b-1"]),
    (["a."], ["a.b-1"]),
    (["a_b-1"], ["a_b-1"]),
    (["b", "Z"], ["b", "ba_b", "Z"]),
    (["-"], ["-a"]),
)
NOWHERE = (
    "a%",
    "%",
    "a*",
    "_",
    ".",
    "[ab]",
    "^a",
    "a\\_",
    "a_b-11",
    " a",
    "a ",
    "a\n",
    "\x00",
    "a\x00",
)
FOREIGN = ("\N{LATIN SMALL LETTER E WITH ACUTE}", "\N{GRINNING FACE}", "\U0010ffff", "a" * 5000)


class FencedStore(ConversationStore, SearchableWithin, Protocol):
    """What the kit needs of a store."""


class SearchWithinContract(StoreSubject):
    """What every SearchableWithin store does.

    A subclass gives the fixture `store` and the hook `plant_newer_turn`.
    """

    async def test_the_store_searches_within_prefixes(self, store: FencedStore) -> None:
        rule = Rule("3", "every method of SearchableWithin is there")
        rule.holds(isinstance(store, SearchableWithin), store)

    async def test_a_prefix_is_plain_text(self, store: FencedStore) -> None:
        rule = Rule("14", "a prefix is plain text: no wildcards, case counts, the start only")
        await _needles(store, IDS)
        for prefixes, expected in FENCES:
            found = await _ids(store, prefixes)
            rule.equal((prefixes, sorted(found)), (prefixes, sorted(expected)))

    async def test_a_prefix_that_starts_no_id_matches_nothing(self, store: FencedStore) -> None:
        rule = Rule("14", "any text is a prefix; one that starts no id matches nothing")
        await _needles(store, IDS)
        for prefix in (*NOWHERE, *FOREIGN, NEVER_WRITTEN):
            rule.equal((prefix, await _ids(store, [prefix])), (prefix, []))
            rule.equal((prefix, await _ids(store, [prefix, "b", prefix])), (prefix, ["ba_b", "b"]))

    async def test_the_empty_prefix_reaches_every_conversation(self, store: FencedStore) -> None:
        rule = Rule("14", "the empty prefix reaches every conversation")
        await _needles(store, IDS)
        everything = await store.search_turns("needle")
        rule.equal(len(everything), len(IDS))
        for prefixes in ([""], ["", "a"], ["b", ""]):
            found = await store.search_turns_within("needle", prefixes=prefixes)
            rule.equal((prefixes, found), (prefixes, everything))

    async def test_no_prefixes_find_nothing(self, store: FencedStore) -> None:
        rule = Rule("14", "no prefixes, no hits; query and limit are checked all the same")
        await _needles(store, IDS)
        rule.equal(await store.search_turns_within("needle", prefixes=()), ())
        with rule.refuses(ValueError, saying="query must contain at least one term"):
            await store.search_turns_within(" ", prefixes=())
        with rule.refuses(ValueError, saying="limit must be >= 1, got 0"):
            await store.search_turns_within("needle", prefixes=(), limit=0)

    async def test_overlapping_prefixes_count_a_hit_once(self, store: FencedStore) -> None:
        rule = Rule("14", "a conversation that several prefixes match counts once")
        await _needles(store, ("ab", "abc", "b"))
        for prefixes in (["a", "ab", "abc"], ["abc", "ab", "a"], ["a", "a"]):
            rule.equal((prefixes, await _ids(store, prefixes)), (prefixes, ["abc", "ab"]))

    async def test_hits_outside_the_fence_use_up_no_limit(self, store: FencedStore) -> None:
        rule = Rule("14", "the limit is taken after the fence")
        for name in ("mine-1", "foreign", "mine-2", "foreign", "foreign"):
            await store.append_turn(name, [says("needle")])
        for limit in (1, 2, *HUGE_NUMBERS):
            found = await store.search_turns_within("needle", prefixes=["mine-"], limit=limit)
            expected = ["mine-2", "mine-1"][: min(limit, 2)]
            rule.equal((limit, [hit.conversation_id for hit in found]), (limit, expected))

    async def test_a_limit_takes_the_newest(self, store: FencedStore) -> None:
        rule = Rule("14", "at most `limit` hits, the newest; 50 by default")
        for _ in range(52):
            await store.append_turn("mine-1", [says("needle")])
        found = await store.search_turns_within("needle", prefixes=["mine-"])
        rule.equal([hit.turn for hit in found], list(range(52, 2, -1)))

    async def test_the_same_turns_are_found_in_the_same_order(self, store: FencedStore) -> None:
        rule = Rule("14", "within the fence the answer is that of search_turns")
        for name in ("b-1", "_", "b-2", "a", "b-1", "B-1", "b-2"):
            await store.append_turn(name, [says("Red GREEN 100% é"), says("blue")])
            await store.append_turn(name, [says("hay")])
        for query in ("needle", "RED blue", "blue\tred", "0%", "É", "rede", "\x00", "red \x00"):
            everything = await store.search_turns(query)
            expected = tuple(hit for hit in everything if hit.conversation_id.startswith("b"))
            found = await store.search_turns_within(query, prefixes=["b"])
            rule.equal((query, found), (query, expected))
        rule.equal(len(await store.search_turns_within("red", prefixes=["b"])), 4)

    async def test_bad_arguments_are_refused_in_order(self, store: FencedStore) -> None:
        rule = Rule("14", "refused in order: a blank query, a lone surrogate, the limit")
        for query in BLANK_QUERIES:
            with rule.refuses(ValueError, saying="query must contain at least one term"):
                await store.search_turns_within(query, prefixes=["\ud800"], limit=0)
        with rule.refuses(ValueError, saying="'prefixes' must not contain a lone surrogate"):
            await store.search_turns_within("x", prefixes=["a", "a\ud800"], limit=0)
        for limit in (0, -1, -(2**100)):
            with rule.refuses(ValueError, saying=f"limit must be >= 1, got {limit}"):
                await store.search_turns_within("x", prefixes=["a"], limit=limit)

    async def test_a_newer_turn_is_refused_only_inside_the_fence(self, store: FencedStore) -> None:
        rule = Rule("14", "what lies outside the fence is not read")
        await _needles(store, ("mine", "foreign"))
        await self.plant_newer_turn(store, "foreign", 1)
        rule.equal(await _ids(store, ["mine"]), ["mine"])
        with rule.refuses(ConversationFormatError, conversation_id="foreign"):
            await store.search_turns_within("needle", prefixes=["foreign"])


async def _needles(store: FencedStore, names: Sequence[str]) -> None:
    for name in names:
        await store.append_turn(name, [says("needle")])


async def _ids(store: FencedStore, prefixes: Sequence[str]) -> list[str]:
    found = await store.search_turns_within("needle", prefixes=prefixes)
    return [hit.conversation_id for hit in found]
