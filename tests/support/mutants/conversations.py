"""Bugs of a conversation store and its eraser."""

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import FrozenClock
from commonhold.contract import (
    ConversationFormatError,
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
    Message,
    encode_messages,
)
from tests.support.mutants.registry import (
    CONVERSATIONS,
    ERASURE,
    breaks,
)

_replace = msgspec.structs.replace


class _Appends(InMemoryStore):
    """An append after which a mutant bends the stored row."""

    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        made = await super().append_turn(conversation_id, messages, actor=actor)
        rows = self._conversations.ledgers[conversation_id].turns
        rows[made.turn] = _replace(rows[made.turn], **self._bent(made))
        return self._conversations.turn(conversation_id, turn=made.turn)

    def _bent(self, made: ConversationTurn) -> dict[str, Any]:
        raise NotImplementedError


@breaks(CONVERSATIONS, "arguments_keep_key_order_and_number_types")
class SortsKeys(_Appends):
    def _bent(self, made: ConversationTurn) -> dict[str, Any]:
        decoded = json.loads(encode_messages(made.messages))
        for message in decoded:
            for call in message["tool_calls"]:
                call["arguments"] = dict(sorted(call["arguments"].items()))
        return {"messages": json.dumps(decoded).encode()}


@breaks(CONVERSATIONS, "arguments_keep_key_order_and_number_types")
class MakesWholeFloatsIntegers(_Appends):
    def _bent(self, made: ConversationTurn) -> dict[str, Any]:
        return {"messages": encode_messages(made.messages).replace(b"1.0", b"1")}


@breaks(CONVERSATIONS, "messages_are_kept_in_the_form_of_the_codec")
class AnswersWhatItWasGiven(InMemoryStore):
    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        made = await super().append_turn(conversation_id, messages, actor=actor)
        return _replace(made, messages=tuple(messages))


@breaks(CONVERSATIONS, "a_message_that_the_codec_refuses_is_refused_whole")
class KeepsWhatItCan(InMemoryStore):
    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        try:
            return await super().append_turn(conversation_id, messages, actor=actor)
        except ValueError:
            return await super().append_turn(conversation_id, messages[:1], actor=actor)


@breaks(CONVERSATIONS, "messages_come_back_verbatim")
class TrimsText(_Appends):
    def _bent(self, made: ConversationTurn) -> dict[str, Any]:
        trimmed = tuple(
            _replace(one, content=one.content.strip()) if isinstance(one.content, str) else one
            for one in made.messages
        )
        return {"messages": encode_messages(trimmed)}


@breaks(
    CONVERSATIONS,
    "roles_and_reasoning_are_not_searched",
    "a_turn_without_text_is_not_found",
    "search_finds_tool_results",
)
class SearchesRoles(_Appends):
    def _bent(self, made: ConversationTurn) -> dict[str, Any]:
        return {"text": encode_messages(made.messages).decode().lower()}


@breaks(CONVERSATIONS, "pieces_are_joined_by_newlines")
class JoinsPiecesWithoutNewlines(_Appends):
    def _bent(self, made: ConversationTurn) -> dict[str, Any]:
        row = self._conversations.ledgers[made.conversation_id].turns[made.turn]
        return {"text": row.text.replace("\n", "")}


@breaks(CONVERSATIONS, "ascii_case_is_ignored", "search_finds_text_blocks_and_no_other_content")
class SearchesCaseSensitively(_Appends):
    def _bent(self, made: ConversationTurn) -> dict[str, Any]:
        texts = [one.content for one in made.messages if isinstance(one.content, str)]
        return {"text": "\n".join(texts)}


@breaks(
    CONVERSATIONS,
    "other_letters_match_themselves",
    "search_finds_strings_as_json_writes_them",
    "search_finds_tool_names_and_arguments",
)
class KeepsAsciiOnly(_Appends):
    def _bent(self, made: ConversationTurn) -> dict[str, Any]:
        row = self._conversations.ledgers[made.conversation_id].turns[made.turn]
        return {"text": row.text.encode("ascii", "ignore").decode()}


@breaks(CONVERSATIONS, "stamps_never_run_backwards")
class TrustsTheClockInAppends(InMemoryStore):
    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        if conversation_id in self._conversations.ledgers:
            self._conversations.ledgers[conversation_id]._newest = None
        return await super().append_turn(conversation_id, messages, actor=actor)


@breaks(CONVERSATIONS, "an_empty_message_list_is_refused")
class RecordsEmptyTurns(InMemoryStore):
    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        spoken = messages or [Message(role="user", content="")]
        return await super().append_turn(conversation_id, spoken, actor=actor)


class _Reads(InMemoryStore):
    """A read whose window a mutant bends."""

    async def read_turns(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationTurn, ...]:
        return await self._bent(conversation_id, after, limit)

    async def _bent(
        self, conversation_id: str, after: int, limit: int | None
    ) -> tuple[ConversationTurn, ...]:
        return await super().read_turns(conversation_id, after=after, limit=limit)


@breaks(CONVERSATIONS, "after_is_exclusive", "racing_appenders_all_get_a_number")
class AfterIsInclusive(_Reads):
    async def _bent(
        self, conversation_id: str, after: int, limit: int | None
    ) -> tuple[ConversationTurn, ...]:
        return await super()._bent(conversation_id, after - 1 if after > 0 else after, limit)


@breaks(CONVERSATIONS, "a_limit_keeps_the_oldest", "negative_windows_are_refused")
class ReadsTheNewest(_Reads):
    async def _bent(
        self, conversation_id: str, after: int, limit: int | None
    ) -> tuple[ConversationTurn, ...]:
        turns = await super()._bent(conversation_id, after, limit if limit == 0 else None)
        return turns if limit is None else turns[len(turns) - min(limit, len(turns)) :]


@breaks(CONVERSATIONS, "reading_has_no_default_bound")
class ReadsFiftyByDefault(_Reads):
    async def _bent(
        self, conversation_id: str, after: int, limit: int | None
    ) -> tuple[ConversationTurn, ...]:
        return await super()._bent(conversation_id, after, 50 if limit is None else limit)


@breaks(CONVERSATIONS, "a_malformed_turn_is_refused", "a_newer_turn_is_refused")
class SkipsMalformedTurns(_Reads):
    async def _bent(
        self, conversation_id: str, after: int, limit: int | None
    ) -> tuple[ConversationTurn, ...]:
        try:
            return await super()._bent(conversation_id, after, limit)
        except ConversationFormatError:
            return ()


class _Searches(InMemoryStore):
    """A search that a mutant bends."""

    async def search_turns(
        self, query: str, *, conversations: Sequence[str] | None = None, limit: int = 50
    ) -> tuple[ConversationTurn, ...]:
        return await self._bent(query, conversations, limit)

    async def _bent(
        self, query: str, conversations: Sequence[str] | None, limit: int
    ) -> tuple[ConversationTurn, ...]:
        return await super().search_turns(query, conversations=conversations, limit=limit)


@breaks("SearchContract", "all_terms_must_occur_in_any_order", "a_term_with_a_nul_matches_nothing")
class MatchesAnyTerm(_Searches):
    async def _bent(
        self, query: str, conversations: Sequence[str] | None, limit: int
    ) -> tuple[ConversationTurn, ...]:
        found = await super()._bent(query, conversations, limit)
        for term in query.split():
            found += await super()._bent(term, conversations, limit)
        unique = {(turn.created_at, turn.conversation_id, turn.turn): turn for turn in found}
        return tuple(unique[key] for key in sorted(unique, reverse=True))[:limit]


@breaks("SearchContract", "ids_narrow_the_search")
class RepeatsHitsOfRepeatedIds(_Searches):
    async def _bent(
        self, query: str, conversations: Sequence[str] | None, limit: int
    ) -> tuple[ConversationTurn, ...]:
        found = await super()._bent(query, conversations, limit)
        named = conversations or ()
        return tuple(
            turn for turn in found for _ in range(max(1, [*named].count(turn.conversation_id)))
        )


@breaks("SearchContract", "an_empty_list_of_ids_finds_nothing")
class TakesNoIdsForAll(_Searches):
    async def _bent(
        self, query: str, conversations: Sequence[str] | None, limit: int
    ) -> tuple[ConversationTurn, ...]:
        return await super()._bent(query, conversations or None, limit)


@breaks("SearchContract", "a_limit_takes_the_newest")
class FindsTheOldestFirst(_Searches):
    async def _bent(
        self, query: str, conversations: Sequence[str] | None, limit: int
    ) -> tuple[ConversationTurn, ...]:
        await super()._bent(query, conversations, limit)
        return (await super()._bent(query, conversations, 2**31))[::-1][:limit]


@breaks("SearchContract", "terms_match_inside_words_and_are_never_patterns")
class TakesTermsForPatterns(_Searches):
    async def _bent(
        self, query: str, conversations: Sequence[str] | None, limit: int
    ) -> tuple[ConversationTurn, ...]:
        found = list(await super()._bent(query, conversations, limit))
        pattern = re.escape(query).replace("%", ".*").replace("_", ".")
        for name, ledger in self._conversations.ledgers.items():
            for row in ledger.turns.values():
                turn = self._conversations.turn(name, turn=row.turn)
                if turn not in found and re.search(pattern, row.text):
                    found.append(turn)
        return tuple(found)


@breaks(
    "SearchContract",
    "the_newest_of_equal_stamps_has_the_highest_turn",
    "a_limit_counts_hits_not_turns",
    "hits_are_newest_first_over_the_whole_store",
    clock=FrozenClock,
)
class OrdersEqualStampsByLowestTurn(_Searches):
    async def _bent(
        self, query: str, conversations: Sequence[str] | None, limit: int
    ) -> tuple[ConversationTurn, ...]:
        found = await super()._bent(query, conversations, limit)
        return tuple(sorted(found, key=lambda turn: (turn.created_at, -turn.turn), reverse=True))


@breaks("SearchContract", "bad_queries_and_limits_are_refused")
class SplitsAtAsciiSpacesOnly(_Searches):
    async def _bent(
        self, query: str, conversations: Sequence[str] | None, limit: int
    ) -> tuple[ConversationTurn, ...]:
        if query.strip(" ") and not query.split():
            return ()
        return await super()._bent(query, conversations, limit)


@breaks(CONVERSATIONS, "ties_order_by_span_then_insertion", "kind_span_and_text_are_kept")
class OrdersProjectionsByInsertion(InMemoryStore):
    async def read_projections(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationProjection, ...]:
        await super().read_projections(conversation_id, after=after, limit=limit)
        held = self._conversations.ledgers.get(conversation_id)
        rows = [] if held is None else [row for row in held.projections if row.turn > after]
        rows.sort(key=lambda row: row.turn)
        return tuple(
            ConversationProjection(turn=row.turn, kind="log", text=row.text, span=row.span)
            for row in rows[:limit]
        )


@breaks(
    CONVERSATIONS, "a_batch_lands_whole_or_not_at_all", "the_largest_turn_number_may_be_projected"
)
class AppendsOneByOne(InMemoryStore):
    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        await super().append_projections(conversation_id, [])
        for entry in entries:
            await super().append_projections(conversation_id, [entry])


@breaks(CONVERSATIONS, "nothing_is_deduplicated")
class DropsRepeatedEntries(InMemoryStore):
    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        await super().append_projections(conversation_id, list(dict.fromkeys(entries)))


class _Erases(InMemoryStore):
    """An erasure that a mutant bends."""

    async def redact_turns(
        self,
        conversation_id: str,
        *,
        through: int | None = None,
        turns: Sequence[int] | None = None,
        actor: str | None = None,
    ) -> int:
        return await self._bent(conversation_id, through=through, turns=turns, actor=actor)

    async def _bent(self, conversation_id: str, **selection: Any) -> int:
        return await super().redact_turns(conversation_id, **selection)


@breaks(ERASURE, "search_forgets_and_the_rest_is_still_found")
class KeepsErasedTextSearchable(_Erases):
    async def _bent(self, conversation_id: str, **selection: Any) -> int:
        held = self._conversations.ledgers.get(conversation_id)
        texts = {} if held is None else {n: row.text for n, row in held.turns.items()}
        count = await super()._bent(conversation_id, **selection)
        if held is not None:
            for number, text in texts.items():
                held.turns[number] = _replace(held.turns[number], text=text)
        return count

    async def search_turns(
        self, query: str, *, conversations: Sequence[str] | None = None, limit: int = 50
    ) -> tuple[ConversationTurn, ...]:
        found = await super().search_turns(query, conversations=conversations, limit=limit)
        for name, held in self._conversations.ledgers.items():
            for row in held.turns.values():
                if row.redacted and query in row.text:
                    found += (self._conversations.turn(name, turn=row.turn),)
        return found


@breaks(ERASURE, "covering_projections_lose_their_text_only")
class BlanksProjectionsOfTheTurnOnly(_Erases):
    async def _bent(self, conversation_id: str, **selection: Any) -> int:
        held = self._conversations.ledgers.get(conversation_id)
        kept = [] if held is None else list(held.projections)
        count = await super()._bent(conversation_id, **selection)
        if held is not None:
            for place, entry in enumerate(kept):
                if entry.span > 1:
                    held.projections[place] = entry
        return count


@breaks(
    ERASURE,
    "repeating_counts_the_same_and_adds_an_act",
    "an_erasure_is_not_stopped_by_a_newer_turn",
    "through_blanks_a_prefix",
)
class CountsOnlyNewlyErased(_Erases):
    async def _bent(self, conversation_id: str, **selection: Any) -> int:
        before = {turn.turn for turn in await self.read_turns(conversation_id) if turn.redacted}
        count = await super()._bent(conversation_id, **selection)
        after = {turn.turn for turn in await self.read_turns(conversation_id) if turn.redacted}
        return count if after - before else 0


@breaks(ERASURE, "an_unknown_conversation_is_zero", "selecting_nothing_is_zero_and_silent")
class RecordsErasuresOfNothing(_Erases):
    async def _bent(self, conversation_id: str, **selection: Any) -> int:
        count = await super()._bent(conversation_id, **selection)
        if not count:
            act = ConversationRedaction(
                conversation_id=conversation_id,
                turns=(),
                actor=None,
                created_at=self._conversations._clock.now(),
            )
            self._conversations._put_ledger(conversation_id).record(act)
        return count


@breaks(ERASURE, "appending_continues_the_numbers", "a_racing_redaction_leaves_no_older_turn")
class ForgetsErasedNumbers(_Erases):
    async def _bent(self, conversation_id: str, **selection: Any) -> int:
        count = await super()._bent(conversation_id, **selection)
        if count:
            self._conversations.ledgers[conversation_id].last -= 1
        return count


@breaks(ERASURE, "everything_is_blanked_but_the_skeleton")
class ErasesTheActor(_Erases):
    async def _bent(self, conversation_id: str, **selection: Any) -> int:
        count = await super()._bent(conversation_id, **selection)
        if count:
            rows = self._conversations.ledgers[conversation_id].turns
            for number, row in rows.items():
                rows[number] = _replace(row, actor=None)
        return count


class _Trails(InMemoryStore):
    """A trail that a mutant bends."""

    async def turn_redactions(
        self,
        *,
        conversations: Sequence[str] | None = None,
        since: datetime | None = None,
        limit: int = 50,
    ) -> tuple[ConversationRedaction, ...]:
        acts = await super().turn_redactions(conversations=conversations, since=since, limit=limit)
        return self._bent(acts, since)

    def _bent(
        self, acts: tuple[ConversationRedaction, ...], since: datetime | None
    ) -> tuple[ConversationRedaction, ...]:
        raise NotImplementedError


@breaks(ERASURE, "equal_stamps_order_by_id_then_place_in_the_trail")
class OrdersTheTrailByStampOnly(_Trails):
    def _bent(
        self, acts: tuple[ConversationRedaction, ...], since: datetime | None
    ) -> tuple[ConversationRedaction, ...]:
        return tuple(sorted(acts, key=lambda act: (act.created_at, act.turns), reverse=True))


@breaks(ERASURE, "ids_since_and_limit_cut_the_trail")
class TrailSinceIsExclusive(_Trails):
    def _bent(
        self, acts: tuple[ConversationRedaction, ...], since: datetime | None
    ) -> tuple[ConversationRedaction, ...]:
        return tuple(act for act in acts if since is None or act.created_at > since)


@breaks(
    ERASURE, "an_act_names_the_turns_ascending", "named_turns_are_deduplicated_and_may_be_unknown"
)
class NamesTurnsDescending(_Trails):
    def _bent(
        self, acts: tuple[ConversationRedaction, ...], since: datetime | None
    ) -> tuple[ConversationRedaction, ...]:
        return tuple(_replace(act, turns=act.turns[::-1]) for act in acts)
