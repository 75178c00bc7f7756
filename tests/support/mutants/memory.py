"""Bugs of a memory store."""

import asyncio
import re
from datetime import datetime, timedelta
from typing import Any

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import (
    MemoryDocument,
    MemoryEntry,
    MemoryFormatError,
    MemoryRedaction,
    MemoryVersion,
)
from commonhold.contract.ids import check_path
from tests.support.mutants.registry import (
    MEMORY,
    breaks,
)

_replace = msgspec.structs.replace


@breaks(MEMORY, "numbers_continue_over_a_deletion")
class ReusesNumbers(InMemoryStore):
    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        deleted = await super().delete(scope, path, actor=actor)
        if deleted:
            self._documents.ledgers[scope].paths[path].highest -= 1
        return deleted


@breaks(
    MEMORY,
    "a_path_redaction_keeps_the_skeleton",
    "a_redaction_of_a_deleted_path_counts",
    "a_redaction_reaches_every_version",
)
class LeavesHistoryInRedaction(InMemoryStore):
    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        ledger = self._documents.ledgers.get(scope)
        paths = {} if ledger is None else ledger.paths
        kept = {name: dict(held.rows) for name, held in paths.items()}
        count = await super().redact(scope, path=path, actor=actor)
        for name, rows in kept.items():
            paths[name].rows = rows
        return count


@breaks(MEMORY, "a_redaction_keeps_every_field_of_the_document_but_content")
class TouchesUpdatedAtInRedaction(InMemoryStore):
    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        count = await super().redact(scope, path=path, actor=actor)
        held = self._documents.ledgers.get(scope)
        for ledger in () if held is None else held.paths.values():
            if ledger.live is not None:
                record = ledger.live.record
                ledger.live = _replace(
                    ledger.live,
                    record=_replace(record, updated_at=record.updated_at + timedelta(seconds=1)),
                )
        return count


@breaks(
    MEMORY,
    "a_scope_redaction_covers_every_path_and_no_other_scope",
    "a_racing_redaction_leaves_no_renamed_content",
    "an_actor_is_recorded_as_given",
    "history_keeps_skeleton_and_actor_after_a_redaction",
)
class SkipsDeletedPathsInRedaction(InMemoryStore):
    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        if path is not None or scope not in self._documents.ledgers:
            return await super().redact(scope, path=path, actor=actor)
        paths = self._documents.ledgers[scope].paths
        gone = {name: held for name, held in paths.items() if held.live is None}
        for name in gone:
            del paths[name]
        count = await super().redact(scope, actor=actor)
        paths.update(gone)
        return count


@breaks(MEMORY, "a_scope_redaction_covers_every_path_and_no_other_scope")
class RedactsSubScopes(InMemoryStore):
    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        for other in self._documents.scopes():
            if other.startswith(f"{scope}/"):
                await super().redact(other, path=path, actor=actor)
        return await super().redact(scope, path=path, actor=actor)


@breaks(
    MEMORY, "a_repeated_redaction_counts_the_same", "an_erasure_is_not_stopped_by_a_newer_format"
)
class CountsOnlyNewlyRedacted(InMemoryStore):
    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        before = sum(not row.redacted for row in await self.history(scope))
        count = await super().redact(scope, path=path, actor=actor)
        return count if before else 0


@breaks(MEMORY, "redacting_nothing_is_zero_and_silent")
class RecordsEmptyActs(InMemoryStore):
    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        count = await super().redact(scope, path=path, actor=actor)
        if not count:
            moment = self._documents._clock.now()
            act = MemoryRedaction(path=path, actor=actor, created_at=moment, count=0)
            self._documents._record(scope, act)
        return count


@breaks(MEMORY, "since_is_inclusive")
class SinceIsExclusive(InMemoryStore):
    async def history(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryVersion, ...]:
        rows = await super().history(scope, since=since, limit=limit)
        return tuple(row for row in rows if since is None or row.created_at > since)


@breaks(
    MEMORY,
    "a_history_limit_keeps_the_newest",
    "a_naive_since_and_a_negative_limit_are_refused",
    "since_and_limit_together_keep_the_newest",
)
class HistoryKeepsTheOldest(InMemoryStore):
    async def history(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryVersion, ...]:
        rows = await super().history(scope, since=since)
        return rows if limit is None else rows[len(rows) - min(limit, len(rows)) :]


@breaks(MEMORY, "rows_on_one_stamp_order_by_path_then_version")
class TiesByVersionFirst(InMemoryStore):
    async def history(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryVersion, ...]:
        rows = await super().history(scope, since=since, limit=limit)
        return tuple(sorted(rows, key=lambda row: (row.created_at, row.version), reverse=True))


@breaks(MEMORY, "acts_on_one_stamp_keep_their_order")
class TrailOldestFirst(InMemoryStore):
    async def redactions(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryRedaction, ...]:
        acts = (await super().redactions(scope, since=since, limit=limit))[::-1]
        return tuple(sorted(acts, key=lambda act: act.created_at, reverse=True))


class _Writes(InMemoryStore):
    """A write whose arguments or answer a mutant bends."""

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
    ) -> MemoryDocument:
        return await self._bent(
            scope, path, content, actor=actor, expected_version=expected_version
        )

    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        return await super().write(scope, path, content, **options)

    def _replace_live(self, scope: str, path: str, **changes: Any) -> MemoryDocument:
        ledger = self._documents.ledgers[scope].paths[path]
        assert ledger.live is not None
        ledger.live = _replace(ledger.live, record=_replace(ledger.live.record, **changes))
        return ledger.live.record


@breaks(MEMORY, "another_expected_version_is_refused_without_effect")
class IgnoresExpectedVersion(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        return await super()._bent(scope, path, content, **options | {"expected_version": None})


@breaks(MEMORY, "an_expected_version_of_an_absent_document_is_refused")
class ZeroMeansCreate(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        if options["expected_version"] == 0 and await self.read(scope, path) is None:
            options["expected_version"] = None
        return await super()._bent(scope, path, content, **options)


@breaks(MEMORY, "an_identical_write_is_still_a_version")
class SkipsIdenticalWrites(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        live = await self.read(scope, path)
        if live is not None and live.content == content:
            return live
        return await super()._bent(scope, path, content, **options)


@breaks(MEMORY, "content_comes_back_byte_for_byte", "a_large_content_comes_back_whole")
class StripsTheLastNewline(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        return await super()._bent(scope, path, content.removesuffix("\n"), **options)


@breaks(MEMORY, "content_comes_back_byte_for_byte")
class TranslatesNewlines(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        return await super()._bent(scope, path, content.replace("\r\n", "\n"), **options)


@breaks(MEMORY, "empty_content_is_not_redacted")
class TakesEmptyForRedacted(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        await super()._bent(scope, path, content, **options)
        return self._replace_live(scope, path, redacted=not content)


@breaks(MEMORY, "a_write_after_a_redaction_is_clean", "the_newest_row_mirrors_the_live_document")
class KeepsTheRedactedFlag(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        live = await self.read(scope, path)
        await super()._bent(scope, path, content, **options)
        return self._replace_live(scope, path, redacted=live is not None and live.redacted)


@breaks(MEMORY, "an_update_bumps_the_version_and_keeps_created_at")
class ResetsCreatedAt(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        made = await super()._bent(scope, path, content, **options)
        return self._replace_live(scope, path, created_at=made.updated_at)


@breaks(MEMORY, "the_actor_of_a_document_is_its_last_writer")
class KeepsTheLastActor(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        live = await self.read(scope, path)
        if options["actor"] is None and live is not None:
            options["actor"] = live.actor
        return await super()._bent(scope, path, content, **options)


@breaks(MEMORY, "unknown_keys_survive_writes_renames_and_redactions")
class DropsUnknownKeys(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        await super()._bent(scope, path, content, **options)
        return self._replace_live(scope, path, extra={})


@breaks(MEMORY, "a_newer_document_is_refused_before_the_expected_version")
class ChecksTheVersionFirst(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        try:
            return await super()._bent(scope, path, content, **options)
        except MemoryFormatError:
            if options["expected_version"] is None:
                raise
            raise ValueError("another version") from None


@breaks(
    MEMORY,
    "stamps_never_run_backwards_on_a_path",
    "a_clamped_path_follows_the_clock_again",
    "a_write_after_an_act_is_not_older_than_the_act",
    "the_newest_version_stays_first_in_history",
)
class TrustsTheClock(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        held = self._documents.ledgers.get(scope)
        if held is not None and path in held.paths:
            held.paths[path]._newest = None
        return await super()._bent(scope, path, content, **options)


@breaks(
    MEMORY,
    "every_stamp_is_aware_and_keeps_microseconds",
    "a_rename_is_clamped_to_its_source",
    "an_act_is_not_older_than_what_it_blanks",
    "the_first_write_is_version_one_and_reads_back",
)
class DropsMicroseconds(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        made = await super()._bent(scope, path, content, **options)
        return self._replace_live(scope, path, updated_at=made.updated_at.replace(microsecond=0))


@breaks(MEMORY, "a_mutation_reads_the_clock_once")
class ReadsTheClockTwice(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        made = await super()._bent(scope, path, content, **options)
        self._documents._clock.now()
        return made


@breaks(MEMORY, "one_of_two_racing_writers_loses")
class ChecksThenWaits(_Writes):
    async def _bent(self, scope: str, path: str, content: str, **options: Any) -> MemoryDocument:
        live = await self.read(scope, path)
        await asyncio.sleep(0)
        if live is not None and options["expected_version"] == live.version:
            options["expected_version"] = None
        return await super()._bent(scope, path, content, **options)


@breaks(MEMORY, "a_racing_redaction_leaves_no_older_content")
class WritesWhatItSawBefore(InMemoryStore):
    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        seen = len(await self.history(scope))
        await asyncio.sleep(0)
        held = self._documents.ledgers[scope].paths
        newer = {
            name: {n: row for n, row in ledger.rows.items() if n > 1}
            for name, ledger in held.items()
        }
        count = await super().redact(scope, path=path, actor=actor)
        if len(await self.history(scope)) != seen:
            for name, rows in newer.items():
                held[name].rows.update(rows)
        return count


@breaks(MEMORY, "deleting_nothing_is_false_and_silent", "a_racing_deletion_happens_once")
class DeletesTwice(InMemoryStore):
    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        return await super().delete(scope, path, actor=actor) or path == check_path(path)


@breaks(MEMORY, "delete_removes_and_records_the_content")
class DeletesContent(InMemoryStore):
    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        deleted = await super().delete(scope, path, actor=actor)
        if deleted:
            ledger = self._documents.ledgers[scope].paths[path]
            row = ledger.rows[ledger.highest]
            ledger.rows[ledger.highest] = _replace(row, record=_replace(row.record, content=""))
        return deleted


@breaks(MEMORY, "a_rename_onto_a_live_document_is_refused")
class OverwritesOnRename(InMemoryStore):
    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        if src != dst and await self.read(scope, src) is not None:
            await self.delete(scope, dst)
        return await super().rename(scope, src, dst, actor=actor)


@breaks(MEMORY, "a_rename_moves_the_document", "racing_renames_to_one_place_have_one_winner")
class KeepsCreatedAtOnRename(InMemoryStore):
    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        source = await self.read(scope, src)
        moved = await super().rename(scope, src, dst, actor=actor)
        return moved if source is None else _replace(moved, created_at=source.created_at)


@breaks(MEMORY, "a_rename_is_clamped_to_its_destination")
class ClampsRenamesToTheSourceOnly(InMemoryStore):
    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        held = self._documents.ledgers.get(scope)
        if held is not None and dst in held.paths:
            held.paths[dst]._newest = None
        return await super().rename(scope, src, dst, actor=actor)


@breaks(MEMORY, "a_listing_is_in_code_point_order")
class ListsByLocale(InMemoryStore):
    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        entries = await super().list_documents(scope, prefix=prefix)
        return tuple(sorted(entries, key=lambda entry: entry.path.lower()))


@breaks(MEMORY, "a_prefix_that_starts_no_path_matches_nothing", "a_prefix_is_plain_text")
class TakesPrefixesForPatterns(InMemoryStore):
    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        pattern = re.escape(prefix).replace("%", ".*").replace("_", ".")
        entries = await super().list_documents(scope)
        return tuple(entry for entry in entries if re.match(pattern, entry.path))


@breaks(MEMORY, "a_newer_document_is_refused_never_skipped")
class SkipsNewerDocuments(InMemoryStore):
    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        try:
            return await super().list_documents(scope, prefix=prefix)
        except MemoryFormatError:
            return ()


@breaks(MEMORY, "a_versions_limit_keeps_the_newest", "versions_answers_fifty_by_default")
class VersionsKeepTheOldest(InMemoryStore):
    async def versions(
        self, scope: str, path: str, *, limit: int = 50
    ) -> tuple[MemoryVersion, ...]:
        rows = await super().versions(scope, path, limit=max(limit, 2**31) if limit > 0 else limit)
        return rows[len(rows) - min(limit, len(rows)) :]


@breaks(MEMORY, "a_bad_scope_is_refused_by_every_method")
class ChecksPathsFirst(InMemoryStore):
    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        check_path(path)
        return await super().read(scope, path)
