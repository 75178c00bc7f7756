"""Bugs of the optional protocols: pages, whole units, idempotency keys."""

from datetime import timedelta
from typing import Any

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.adapters.in_memory.answers import Answers, Once
from commonhold.contract import (
    ConversationArchive,
    IdempotencyKey,
    MemoryConflictError,
    MemoryDocument,
    MemoryEntry,
    MemoryRedaction,
    MemoryVersion,
    Page,
    ScopeArchive,
)
from commonhold.contract.clock import read_clock
from commonhold.contract.idempotency import KEY_REUSED
from tests.support.mutants.registry import (
    KEYS,
    PAGES,
    PORTABLE,
    breaks,
)

_replace = msgspec.structs.replace


@breaks(PAGES, "pages_joined_are_the_whole_listing")
class RepeatsTheRowOfTheCursor(InMemoryStore):
    async def versions_page(
        self, scope: str, path: str, *, cursor: str | None = None, limit: int
    ) -> Page[MemoryVersion]:
        page = await super().versions_page(scope, path, cursor=cursor, limit=limit)
        if cursor is None:
            return page
        number = (page.items[0].version + 1) if page.items else 1
        repeated = self._documents.version(scope, path, version=number)
        return Page(items=(repeated, *page.items)[:limit], next_cursor=page.next_cursor)


@breaks(PAGES, "a_cursor_is_there_exactly_when_rows_follow")
class PointsBehindTheLastRow(InMemoryStore):
    async def list_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryEntry]:
        page = await super().list_documents_page(scope, prefix=prefix, cursor=cursor, limit=limit)
        if page.next_cursor is None and len(page.items) == limit:
            first = await super().list_documents_page(scope, prefix=prefix, limit=1)
            return Page(items=page.items, next_cursor=first.next_cursor or "behind")
        return page


@breaks(PAGES, "junk_is_not_a_cursor", "a_forged_cursor_is_never_more_than_refused")
class StartsAnewOnJunk(InMemoryStore):
    async def redactions_page(
        self, scope: str, *, since: Any = None, cursor: str | None = None, limit: int
    ) -> Page[MemoryRedaction]:
        try:
            return await super().redactions_page(scope, since=since, cursor=cursor, limit=limit)
        except ValueError as error:
            if "cursor" not in str(error):
                raise
            return await super().redactions_page(scope, since=since, limit=limit)


@breaks(PAGES, "ledger_cursors_survive_newer_rows")
class CountsRowsFromTheTop(InMemoryStore):
    async def history_page(
        self, scope: str, *, since: Any = None, cursor: str | None = None, limit: int
    ) -> Page[MemoryVersion]:
        await super().history_page(scope, since=since, limit=limit)
        rows = await self.history(scope, since=since)
        start = 0 if cursor is None else int(cursor)
        end = start + limit
        return Page(items=rows[start:end], next_cursor=str(end) if end < len(rows) else None)


@breaks(PAGES, "equal_stamps_are_paged_without_repeats")
class PagesByStampOnly(InMemoryStore):
    async def redactions_page(
        self, scope: str, *, since: Any = None, cursor: str | None = None, limit: int
    ) -> Page[MemoryRedaction]:
        page = await super().redactions_page(scope, since=since, cursor=cursor, limit=limit)
        if cursor is None:
            return page
        last = (await super().redactions_page(scope, since=since, limit=1)).items[0].created_at
        items = tuple(act for act in page.items if act.created_at < last)
        return Page(items=items, next_cursor=page.next_cursor if items else None)


@breaks(PAGES, "arguments_are_checked_in_order")
class ReadsTheCursorFirst(InMemoryStore):
    async def list_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryEntry]:
        if cursor == "zzz":
            raise ValueError("malformed list cursor: 'zzz'")
        return await super().list_documents_page(scope, prefix=prefix, cursor=cursor, limit=limit)


class _Restores(InMemoryStore):
    """A restore whose archive a mutant bends."""

    async def restore_scope(self, archive: ScopeArchive) -> None:
        await super().restore_scope(self._bent(archive))

    def _bent(self, archive: ScopeArchive) -> ScopeArchive:
        raise NotImplementedError


@breaks(
    PORTABLE, "a_bad_row_of_a_scope_is_refused_whole", "text_that_cannot_be_kept_is_refused_whole"
)
class RestoresHalf(InMemoryStore):
    async def restore_scope(self, archive: ScopeArchive) -> None:
        try:
            await super().restore_scope(archive)
        except ValueError:
            self._documents.restore(ScopeArchive(scope=archive.scope, documents=archive.documents))
            raise


@breaks(PORTABLE, "a_bad_row_of_a_scope_is_refused_whole")
class BlanksRedactedContentItself(_Restores):
    def _bent(self, archive: ScopeArchive) -> ScopeArchive:
        rows = tuple(_replace(row, content="") if row.redacted else row for row in archive.versions)
        return _replace(archive, versions=rows)


@breaks(PORTABLE, "a_scope_lands_verbatim", "what_was_exported_can_be_restored_elsewhere")
class StampsTheCaller(_Restores):
    def _bent(self, archive: ScopeArchive) -> ScopeArchive:
        rows = tuple(_replace(row, actor="client:default") for row in archive.versions)
        return _replace(archive, versions=rows)


@breaks(
    PORTABLE,
    "a_scope_lands_verbatim",
    "a_bad_path_is_refused",
    "scopes_are_those_that_hold_anything",
)
class LosesTheTrail(_Restores):
    def _bent(self, archive: ScopeArchive) -> ScopeArchive:
        return _replace(archive, redactions=())


@breaks(PORTABLE, "extra_that_not_every_store_holds_is_refused_whole")
class KeepsWhateverKeysThereAre(InMemoryStore):
    async def restore_scope(self, archive: ScopeArchive) -> None:
        plain = tuple(_replace(document, extra={}) for document in archive.documents)
        await super().restore_scope(_replace(archive, documents=plain))
        for document in archive.documents:
            ledger = self._documents.ledgers[archive.scope].paths[document.path]
            ledger.put(document)


@breaks(PORTABLE, "extra_lands_as_deep_as_it_may_be")
class KeepsTheTopOfDeepKeys(_Restores):
    def _bent(self, archive: ScopeArchive) -> ScopeArchive:
        rows = tuple(
            _replace(row, extra={}) if len(repr(row.extra)) > 400 else row
            for row in archive.documents
        )
        return _replace(archive, documents=rows)


@breaks(PORTABLE, "an_occupied_scope_is_refused")
class TakesATrailForEmpty(InMemoryStore):
    async def restore_scope(self, archive: ScopeArchive) -> None:
        held = self._documents.ledgers.get(archive.scope)
        if held is not None and not held.paths:
            del self._documents.ledgers[archive.scope]
        await super().restore_scope(archive)


@breaks(PORTABLE, "an_empty_archive_creates_nothing")
class CreatesEmptyUnits(InMemoryStore):
    async def restore_conversation(self, archive: ConversationArchive) -> None:
        await super().restore_conversation(archive)
        self._conversations._put_ledger(archive.conversation_id)


@breaks(PORTABLE, "writes_continue_from_the_highest_number")
class ContinuesFromTheDocument(InMemoryStore):
    async def restore_scope(self, archive: ScopeArchive) -> None:
        await super().restore_scope(archive)
        for document in archive.documents:
            ledger = self._documents.ledgers[archive.scope].paths[document.path]
            ledger.highest = document.version


@breaks(PORTABLE, "searchable_text_is_rendered_again")
class RestoresTurnsWithoutText(InMemoryStore):
    async def restore_conversation(self, archive: ConversationArchive) -> None:
        await super().restore_conversation(archive)
        held = self._conversations.ledgers.get(archive.conversation_id)
        turns = {} if held is None else held.turns
        for number, row in turns.items():
            turns[number] = _replace(row, text="")


@breaks(PORTABLE, "a_stamp_from_the_future_holds")
class ForgetsRestoredStamps(InMemoryStore):
    async def restore_conversation(self, archive: ConversationArchive) -> None:
        await super().restore_conversation(archive)
        held = self._conversations.ledgers.get(archive.conversation_id)
        if held is not None:
            held._newest = None


@breaks(PORTABLE, "ties_keep_the_order_of_the_archive")
class RestoresActsBackwards(_Restores):
    def _bent(self, archive: ScopeArchive) -> ScopeArchive:
        return _replace(archive, redactions=archive.redactions[::-1])


@breaks(PORTABLE, "conversations_are_those_with_turns_or_projections")
class ListsTrailsAsConversations(InMemoryStore):
    async def conversations(self) -> tuple[str, ...]:
        return tuple(sorted(self._conversations.ledgers))


class _Keys(InMemoryStore):
    """A store whose answers under keys a mutant bends."""

    answers: type[Answers] = Answers

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        bent = self.answers(self._documents._clock)
        self._answers = self._documents._answers = self._conversations._answers = bent


class _ForgetfulAnswers(Answers):
    def once(self, once: Once[Any], *, key: IdempotencyKey, digest: bytes) -> Any:
        return once.act()


@breaks(
    KEYS,
    "a_replay_answers_the_same_and_changes_nothing",
    "a_replayed_append_answers_its_own_turn",
    "a_view_may_be_kept",
    "flags_and_counts_are_remembered",
    "racing_calls_under_one_key_happen_once",
    "the_first_use_of_a_key_is_the_mutation_itself",
)
class RunsAgain(_Keys):
    answers = _ForgetfulAnswers


class _TrustingAnswers(Answers):
    def once(self, once: Once[Any], *, key: IdempotencyKey, digest: bytes) -> Any:
        return super().once(once, key=key, digest=b"")


@breaks(
    KEYS,
    "another_request_under_the_key_is_refused",
    "an_erased_turn_elsewhere_leaves_the_digest",
    "every_mutation_remembers_its_digest",
    "of_racing_requests_under_one_key_one_wins",
)
class IgnoresDigests(_Keys):
    answers = _TrustingAnswers


class _ClientlessAnswers(Answers):
    def once(self, once: Once[Any], *, key: IdempotencyKey, digest: bytes) -> Any:
        return super().once(once, key=IdempotencyKey("", key.value), digest=digest)


@breaks(KEYS, "clients_have_their_own_keys", "a_key_is_opaque_text")
class SharesKeysBetweenClients(_Keys):
    answers = _ClientlessAnswers


class _RememberingAnswers(Answers):
    def forget_documents(self, scope: str, *, path: str | None) -> None:
        pass


@breaks(KEYS, "after_a_redaction_the_key_matches_any_body", "a_guarded_redaction_nulls_digests_too")
class KeepsDigestsOfErasedText(_Keys):
    answers = _RememberingAnswers


class _CarelessAnswers(Answers):
    def forget_documents(self, scope: str, *, path: str | None) -> None:
        super().forget_documents(scope, path=None)


@breaks(KEYS, "a_redaction_elsewhere_leaves_the_digest")
class ForgetsDigestsOfTheWholeScope(_Keys):
    answers = _CarelessAnswers


class _EternalAnswers(Answers):
    def _sweep(self, now: Any) -> None:
        pass


@breaks(KEYS, "a_key_lives_for_a_day")
class NeverForgetsKeys(_Keys):
    answers = _EternalAnswers


class _ImpatientAnswers(Answers):
    def _sweep(self, now: Any) -> None:
        super()._sweep(now + timedelta(hours=1))


@breaks(KEYS, "a_key_lives_for_a_day")
class ForgetsKeysEarly(_Keys):
    answers = _ImpatientAnswers


class _GrudgingAnswers(Answers):
    """Remembers that a key was used before knowing whether the mutation succeeds."""

    def once(self, once: Once[Any], *, key: IdempotencyKey, digest: bytes) -> Any:
        used: dict[IdempotencyKey, bytes] = self.__dict__.setdefault("used", {})
        if used.setdefault(key, digest) != digest and read_clock(self._clock):
            raise ValueError(KEY_REUSED)
        return super().once(once, key=key, digest=digest)


@breaks(KEYS, "a_refusal_is_not_remembered")
class RemembersRefusals(_Keys):
    answers = _GrudgingAnswers


class _HeadAnswers(Answers):
    """Replays a document from its head instead of the version row."""

    documents: Any = None

    def once(self, once: Once[Any], *, key: IdempotencyKey, digest: bytes) -> Any:
        answer = super().once(once, key=key, digest=digest)
        if not isinstance(answer, MemoryDocument):
            return answer
        return self.documents.read(answer.scope, answer.path) or answer


@breaks(
    KEYS,
    "a_replay_never_shows_another_writers_version",
    "a_replayed_rename_answers_its_own_destination",
    "a_replayed_update_keeps_its_own_stamps",
)
class ReplaysTheHead(_Keys):
    answers = _HeadAnswers

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._answers.__dict__["documents"] = self._documents


class _StoredAnswers(Answers):
    """Keeps the whole first answer, content included."""

    def once(self, once: Once[Any], *, key: IdempotencyKey, digest: bytes) -> Any:
        kept: dict[Any, Any] = self.__dict__.setdefault("kept", {})
        answer = super().once(once, key=key, digest=digest)
        return kept.setdefault((key, once.operation), answer)


@breaks(KEYS, "a_replay_after_a_path_redaction_is_empty", "a_replay_after_an_erased_turn_is_empty")
class ReplaysErasedContent(_Keys):
    answers = _StoredAnswers


@breaks(PORTABLE, "of_racing_restores_one_lands")
class MergesRestores(InMemoryStore):
    async def restore_scope(self, archive: ScopeArchive) -> None:
        try:
            await super().restore_scope(archive)
        except MemoryConflictError:
            if not archive.versions:
                raise
