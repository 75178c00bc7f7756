"""Bugs of single calls beside those of memory.py, conversations.py and protocols.py."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import (
    ConversationArchive,
    ConversationProjection,
    ConversationTurn,
    MemoryConflictError,
    MemoryDocument,
    MemoryFormatError,
    Message,
)
from tests.support.mutants.registry import (
    CONVERSATIONS,
    ERASURE,
    KEYS,
    MEMORY,
    PORTABLE,
    breaks,
)

_replace = msgspec.structs.replace


@breaks(MEMORY, "history_spans_paths_and_deletions_newest_first", "scopes_do_not_nest")
class HasOneScope(InMemoryStore):
    async def write(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        self._documents.read(scope, path)
        self._documents.ledgers[scope] = self._documents.ledgers.setdefault(
            "user:ada", self._documents.ledgers.get(scope) or _empty_scope()
        )
        return await super().write(scope, path, content, **options)


def _empty_scope() -> Any:
    store = InMemoryStore()
    store._documents._put_ledger("u:a", "a")
    ledger = store._documents.ledgers["u:a"]
    ledger.paths.clear()
    return ledger


@breaks(
    MEMORY,
    "a_newer_document_leaves_the_others_readable",
    "a_newer_version_row_is_refused_by_the_ledgers",
)
class RefusesBesideANewerRow(InMemoryStore):
    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        ledgers = self._documents.ledgers.get(scope)
        for name, ledger in {} if ledgers is None else dict(ledgers.paths).items():
            if any(row.format != 1 for row in ledger.rows.values()):
                raise MemoryFormatError(scope=scope, path=name, reason="format 2")
        return await super().read(scope, path)


@breaks(MEMORY, "an_actor_that_cannot_be_kept_is_refused_whole")
class WritesBeforeItChecksTheActor(InMemoryStore):
    async def write(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        try:
            return await super().write(scope, path, content, **options)
        except ValueError:
            await super().write(scope, path, content, **options | {"actor": None})
            raise


@breaks(ERASURE, "an_actor_that_cannot_be_kept_is_refused_whole", "bad_selectors_change_nothing")
class ErasesBeforeItChecksTheActor(InMemoryStore):
    async def redact_turns(self, conversation_id: str, **options: Any) -> int:
        try:
            return await super().redact_turns(conversation_id, **options)
        except ValueError:
            self._conversations.redact_turns(conversation_id, through=None, turns=None, actor=None)
            raise


@breaks(
    MEMORY,
    "a_rename_and_a_redaction_are_visible_to_the_next_call",
    "a_rename_carries_the_redacted_flag",
    "a_rename_records_both_rows",
    "crossing_renames_end",
)
class CopiesOnRename(InMemoryStore):
    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        source = await self.read(scope, src)
        moved = await super().rename(scope, src, dst, actor=actor)
        if source is not None:
            await self.write(scope, src, source.content)
        return moved


@breaks(MEMORY, "racing_blind_writers_all_get_a_version")
class ConflictsOnBlindWrites(InMemoryStore):
    busy = False

    async def write(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        if self.busy:
            raise MemoryConflictError(scope=scope, path=path, reason="version_mismatch")
        self.busy = True
        try:
            await asyncio.sleep(0)
            return await super().write(scope, path, content, **options)
        finally:
            self.busy = False


@breaks(MEMORY, "a_matching_expected_version_is_accepted")
class RefusesAnyExpectedVersion(InMemoryStore):
    async def write(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        if options.get("expected_version") is not None:
            options["expected_version"] = -1
        return await super().write(scope, path, content, **options)


@breaks(MEMORY, "deleting_a_redacted_document_records_a_redacted_row")
class UnredactsOnDelete(InMemoryStore):
    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        deleted = await super().delete(scope, path, actor=actor)
        if deleted:
            ledger = self._documents.ledgers[scope].paths[path]
            row = ledger.rows[ledger.highest]
            ledger.rows[ledger.highest] = _replace(row, record=_replace(row.record, redacted=False))
        return deleted


@breaks(
    MEMORY, "a_renamed_source_starts_without_unknown_keys", "unknown_keys_go_with_their_document"
)
class KeepsUnknownKeysForEver(InMemoryStore):
    async def write(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        kept: dict[tuple[str, str], Any] = self.__dict__.setdefault("kept", {})
        await super().write(scope, path, content, **options)
        ledger = self._documents.ledgers[scope].paths[path]
        assert ledger.live is not None
        extra = kept.get((scope, path), {})
        ledger.live = _replace(ledger.live, record=_replace(ledger.live.record, extra=extra))
        return ledger.live.record

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        self._keep(scope, path)
        return await super().delete(scope, path, actor=actor)

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        self._keep(scope, src)
        return await super().rename(scope, src, dst, actor=actor)

    def _keep(self, scope: str, path: str) -> None:
        kept: dict[tuple[str, str], Any] = self.__dict__.setdefault("kept", {})
        live = self._documents.read(scope, path)
        kept[scope, path] = {} if live is None else live.extra


@breaks(
    MEMORY,
    "a_listing_leaves_deleted_documents_out_and_redacted_ones_in",
    "a_redaction_appends_no_version",
    "since_reaches_from_the_first_day_to_the_last",
    "the_trail_names_paths_and_scope_acts_newest_first",
)
class RecordsRedactionsAsVersions(InMemoryStore):
    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        count = await super().redact(scope, path=path, actor=actor)
        for entry in await self.list_documents(scope):
            await self.write(scope, entry.path, "", actor=actor)
        return count


@breaks(
    MEMORY,
    "a_rename_continues_the_numbers_of_its_destination",
    "a_rename_there_and_back_keeps_counting",
)
class StartsRenamesAtOne(InMemoryStore):
    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        held = self._documents.ledgers.get(scope)
        if held is not None and dst in held.paths and held.paths[dst].live is None:
            del held.paths[dst]
        return await super().rename(scope, src, dst, actor=actor)


@breaks(
    MEMORY,
    "a_rename_of_nothing_is_refused",
    "a_rename_onto_a_newer_document_is_a_conflict",
    "a_rename_reports_its_source_before_its_destination",
)
class ChecksTheDestinationFirst(InMemoryStore):
    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        if await self.read(scope, dst) is not None:
            raise MemoryConflictError(scope=scope, path=dst, reason="destination_exists")
        return await super().rename(scope, src, dst, actor=actor)


@breaks(CONVERSATIONS, "conversations_are_apart")
class LeavesGaps(InMemoryStore):
    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        if conversation_id in self._conversations.ledgers:
            self._conversations.ledgers[conversation_id].last += 1
        return await super().append_turn(conversation_id, messages, actor=actor)


@breaks(CONVERSATIONS, "an_empty_batch_creates_nothing", "search_finds_message_text")
class KeepsOneConversation(InMemoryStore):
    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        made = await super().append_turn(conversation_id, messages, actor=actor)
        for name in ("thread-a", "thread-b"):
            self._conversations.ledgers[name] = self._conversations.ledgers[conversation_id]
        return made

    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        for name in {conversation_id, "thread-a", "thread-b"}:
            await super().append_projections(name, entries)
        if not entries:
            self._conversations.append_projections(
                conversation_id, [ConversationProjection(turn=1, kind="log", text="empty")]
            )


@breaks(CONVERSATIONS, "a_turn_of_many_messages_keeps_their_order")
class ReversesMessages(InMemoryStore):
    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        return await super().append_turn(conversation_id, messages[::-1], actor=actor)


@breaks(
    CONVERSATIONS,
    "a_malformed_projection_is_refused",
    "a_newer_projection_is_refused",
    "a_turn_never_written_may_be_projected",
    "after_and_limit_cut_the_entries",
    "conversations_have_their_own_entries",
    "entries_accumulate_in_turn_order",
)
class ChecksThatTurnsExist(InMemoryStore):
    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        last = await self.last_turn_number(conversation_id)
        if any(entry.turn > last for entry in entries):
            raise ValueError("no such turn")
        await super().append_projections(conversation_id, entries)


@breaks(CONVERSATIONS, "a_query_has_as_many_terms_as_it_has")
class LooksForTheFirstTerms(InMemoryStore):
    async def search_turns(
        self, query: str, *, conversations: Sequence[str] | None = None, limit: int = 50
    ) -> tuple[ConversationTurn, ...]:
        some = " ".join(query.split()[:1000]) or query
        return await super().search_turns(some, conversations=conversations, limit=limit)


@breaks(CONVERSATIONS, "a_query_is_split_at_any_whitespace")
class SplitsQueriesAtSpaces(InMemoryStore):
    async def search_turns(
        self, query: str, *, conversations: Sequence[str] | None = None, limit: int = 50
    ) -> tuple[ConversationTurn, ...]:
        found = await super().search_turns(query, conversations=conversations, limit=limit)
        terms = [term for term in query.lower().split(" ") if term]
        held = self._conversations.ledgers
        return tuple(
            turn
            for turn in found
            if all(term in held[turn.conversation_id].turns[turn.turn].text for term in terms)
        )


@breaks(ERASURE, "a_projection_appended_afterwards_keeps_its_text")
class BlanksProjectionsOfErasedTurns(InMemoryStore):
    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        turns = await self.read_turns(conversation_id)
        erased = {turn.turn for turn in turns if turn.redacted}
        blanked = [_replace(one, text="") if one.turn in erased else one for one in entries]
        await super().append_projections(conversation_id, blanked)


@breaks(ERASURE, "a_turn_after_an_act_is_not_older_than_the_act")
class ForgetsActsInStamps(InMemoryStore):
    async def redact_turns(self, conversation_id: str, **options: Any) -> int:
        held = self._conversations.ledgers.get(conversation_id)
        newest = None if held is None else held._newest
        count = await super().redact_turns(conversation_id, **options)
        if held is not None:
            held._newest = newest
        return count


@breaks(PORTABLE, "trail_turns_are_sorted_and_deduplicated")
class KeepsTrailTurnsAsGiven(InMemoryStore):
    async def restore_conversation(self, archive: ConversationArchive) -> None:
        await super().restore_conversation(archive)
        held = self._conversations.ledgers.get(archive.conversation_id)
        for place, act in enumerate(archive.redactions):
            if held is not None:
                row = held.trail[place]
                held.trail[place] = _replace(row, record=_replace(row.record, turns=act.turns))


@breaks(KEYS, "without_a_key_nothing_is_remembered")
class RemembersWithoutAKey(InMemoryStore):
    async def write(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        live = await self.read(scope, path)
        if live is not None and live.content == content:
            return live
        return await super().write(scope, path, content, **options)


@breaks(MEMORY, "a_path_never_written_reads_as_none")
class ReadsTheNearestPath(InMemoryStore):
    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        found = await super().read(scope, path)
        if found is None:
            for entry in await self.list_documents(scope):
                return await super().read(scope, entry.path)
        return found


@breaks(CONVERSATIONS, "an_absent_term_finds_nothing")
class FindsTheBeginningOfATerm(InMemoryStore):
    async def search_turns(
        self, query: str, *, conversations: Sequence[str] | None = None, limit: int = 50
    ) -> tuple[ConversationTurn, ...]:
        found = await super().search_turns(query, conversations=conversations, limit=limit)
        beginning = query[: len(query) // 3]
        if found or not beginning.strip():
            return found
        return await super().search_turns(beginning, conversations=conversations, limit=limit)
