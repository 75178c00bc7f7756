"""Bugs of a search fenced by prefixes."""

import fnmatch
import re
from collections.abc import Sequence

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import FrozenClock
from commonhold.contract import ConversationFormatError, ConversationTurn
from tests.support.mutants.registry import FENCES, breaks

EVERY_TURN = 10**6


class _Fences(InMemoryStore):
    """A search whose fence a mutant bends."""

    async def search_turns_within(
        self, query: str, *, prefixes: Sequence[str], limit: int = 50
    ) -> tuple[ConversationTurn, ...]:
        # Refusals stay as they are.
        await super().search_turns_within(query, prefixes=(), limit=limit)
        found = await self.search_turns(query, limit=EVERY_TURN)
        inside = [hit for hit in found if self._is_inside(hit.conversation_id, prefixes)]
        return self._cut(inside, limit)

    def _is_inside(self, name: str, prefixes: Sequence[str]) -> bool:
        return name.startswith(tuple(prefixes))

    def _cut(self, inside: list[ConversationTurn], limit: int) -> tuple[ConversationTurn, ...]:
        return tuple(inside[:limit])


@breaks(FENCES, "a_newer_turn_is_refused_only_inside_the_fence")
class ReadsOutsideTheFence(_Fences):
    pass


@breaks(FENCES, "a_prefix_is_plain_text", "a_prefix_that_starts_no_id_matches_nothing")
class TakesPrefixesForPatterns(_Fences):
    def _is_inside(self, name: str, prefixes: Sequence[str]) -> bool:
        patterns = (re.escape(one).replace("%", ".*").replace("_", ".") for one in prefixes)
        return any(re.match(pattern, name) for pattern in patterns)


@breaks(FENCES, "a_prefix_that_starts_no_id_matches_nothing")
class TakesPrefixesForGlobs(_Fences):
    def _is_inside(self, name: str, prefixes: Sequence[str]) -> bool:
        return any(fnmatch.fnmatchcase(name, f"{one}*") for one in prefixes)


@breaks(FENCES, "a_prefix_is_plain_text")
class FoldsTheCaseOfPrefixes(_Fences):
    def _is_inside(self, name: str, prefixes: Sequence[str]) -> bool:
        return name.lower().startswith(tuple(one.lower() for one in prefixes))


@breaks(FENCES, "a_prefix_is_plain_text", "the_same_turns_are_found_in_the_same_order")
class FindsPrefixesAnywhere(_Fences):
    def _is_inside(self, name: str, prefixes: Sequence[str]) -> bool:
        return any(one.lower() in name.lower() for one in prefixes)


@breaks(FENCES, "the_empty_prefix_reaches_every_conversation")
class TakesAnEmptyPrefixForNone(_Fences):
    def _is_inside(self, name: str, prefixes: Sequence[str]) -> bool:
        return name.startswith(tuple(one for one in prefixes if one))


@breaks(FENCES, "no_prefixes_find_nothing")
class TakesNoPrefixesForNoFence(_Fences):
    def _is_inside(self, name: str, prefixes: Sequence[str]) -> bool:
        return not prefixes or super()._is_inside(name, prefixes)


@breaks(FENCES, "hits_outside_the_fence_use_up_no_limit")
class FencesAfterTheLimit(InMemoryStore):
    async def search_turns_within(
        self, query: str, *, prefixes: Sequence[str], limit: int = 50
    ) -> tuple[ConversationTurn, ...]:
        found = await self.search_turns(query, limit=limit)
        return tuple(hit for hit in found if hit.conversation_id.startswith(tuple(prefixes)))


@breaks(FENCES, "overlapping_prefixes_count_a_hit_once")
class JoinsAHitForEachPrefix(InMemoryStore):
    async def search_turns_within(
        self, query: str, *, prefixes: Sequence[str], limit: int = 50
    ) -> tuple[ConversationTurn, ...]:
        found: list[ConversationTurn] = []
        for prefix in prefixes:
            found += await super().search_turns_within(query, prefixes=[prefix], limit=limit)
        found.sort(key=lambda hit: (hit.created_at, hit.conversation_id, hit.turn), reverse=True)
        return tuple(found[:limit])


@breaks(FENCES, "a_limit_takes_the_newest", "hits_outside_the_fence_use_up_no_limit")
class TakesTheOldest(_Fences):
    def _cut(self, inside: list[ConversationTurn], limit: int) -> tuple[ConversationTurn, ...]:
        return tuple(inside[-limit:])


@breaks(FENCES, "the_same_turns_are_found_in_the_same_order", clock=FrozenClock)
class OrdersFencedHitsByStampOnly(_Fences):
    def _cut(self, inside: list[ConversationTurn], limit: int) -> tuple[ConversationTurn, ...]:
        ordered = sorted(inside, key=lambda hit: (hit.conversation_id, hit.turn))
        return tuple(sorted(ordered, key=lambda hit: hit.created_at, reverse=True))[:limit]


@breaks(FENCES, "bad_arguments_are_refused_in_order")
class ChecksTheLimitFirst(InMemoryStore):
    async def search_turns_within(
        self, query: str, *, prefixes: Sequence[str], limit: int = 50
    ) -> tuple[ConversationTurn, ...]:
        if limit < 1:
            raise ValueError(f"limit must be >= 1, got {limit}")
        return await super().search_turns_within(query, prefixes=prefixes, limit=limit)


@breaks(FENCES, "a_newer_turn_is_refused_only_inside_the_fence")
class SkipsNewerTurns(InMemoryStore):
    async def search_turns_within(
        self, query: str, *, prefixes: Sequence[str], limit: int = 50
    ) -> tuple[ConversationTurn, ...]:
        try:
            return await super().search_turns_within(query, prefixes=prefixes, limit=limit)
        except ConversationFormatError:
            return ()
