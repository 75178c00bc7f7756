"""Bugs of erasure by age."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import AgedDocument, MemoryConflictError, MemoryFormatError, Page
from tests.support.mutants.registry import EXPIRATIONS, breaks

_replace = msgspec.structs.replace


class _Listing(InMemoryStore):
    """A listing whose rows a mutant bends, leaving out those bent to nothing."""

    async def aged_documents_page(self, scope: str, **options: Any) -> Page[AgedDocument]:
        page = await super().aged_documents_page(scope, **options)
        bent = [await self._bent(scope, row) for row in page.items]
        items = tuple(row for row in bent if row is not None)
        return Page(items=items, next_cursor=page.next_cursor)

    async def _bent(self, scope: str, row: AgedDocument) -> AgedDocument | None:
        raise NotImplementedError


@breaks(
    EXPIRATIONS,
    "a_deleted_document_is_listed",
    "what_is_old_is_listed_by_path",
    "what_is_erased_is_not_listed",
)
class ListsTheLiveAlone(_Listing):
    async def _bent(self, scope: str, row: AgedDocument) -> AgedDocument | None:
        return row if self._documents._get_live(scope, row.path) else None


@breaks(EXPIRATIONS, "what_is_old_is_listed_by_path")
class CountsFromTheFirstVersion(_Listing):
    async def _bent(self, scope: str, row: AgedDocument) -> AgedDocument | None:
        rows = self._documents.ledgers[scope].paths[row.path].rows
        return _replace(row, changed_at=rows[1].record.created_at)


@breaks(EXPIRATIONS, "an_erasure_is_not_stopped_by_a_newer_format")
class ReadsWhatItLists(_Listing):
    async def _bent(self, scope: str, row: AgedDocument) -> AgedDocument | None:
        try:
            await self.read(scope, row.path)
        except MemoryFormatError:
            return None
        return row


@breaks(EXPIRATIONS, "the_boundary_is_young", "a_deleted_document_is_listed")
class ListsTheBoundary(InMemoryStore):
    async def aged_documents_page(
        self, scope: str, *, before: datetime, **options: Any
    ) -> Page[AgedDocument]:
        later = before + timedelta(microseconds=1)
        return await super().aged_documents_page(scope, before=later, **options)


@breaks(EXPIRATIONS, "what_is_erased_is_not_listed")
class ListsTheErased(InMemoryStore):
    async def aged_documents_page(
        self, scope: str, *, before: datetime, **options: Any
    ) -> Page[AgedDocument]:
        page = await super().aged_documents_page(scope, before=before, **options)
        erased = [
            AgedDocument(path=path, version=ledger.highest, changed_at=ledger.changed_at)
            for path, ledger in self._documents._paths(scope).items()
            if ledger.is_blank
        ]
        return Page(items=(*page.items, *erased), next_cursor=page.next_cursor)


@breaks(EXPIRATIONS, "pages_joined_are_the_listing")
class ForgetsTheRowAtTheEndOfAPage(InMemoryStore):
    async def aged_documents_page(self, scope: str, **options: Any) -> Page[AgedDocument]:
        page = await super().aged_documents_page(scope, **options)
        return page if page.next_cursor is None else _replace(page, items=page.items[:-1])


@breaks(EXPIRATIONS, "an_erasure_between_pages_skips_nothing")
class PagesByNumber(InMemoryStore):
    async def aged_documents_page(
        self, scope: str, *, before: datetime, cursor: str | None = None, limit: int
    ) -> Page[AgedDocument]:
        rows = list(self._documents.aged(scope, before=before))
        start = int(cursor or 0)
        following = str(start + limit) if len(rows) > start + limit else None
        return Page(items=tuple(rows[start : start + limit]), next_cursor=following)


@breaks(
    EXPIRATIONS,
    "a_deleted_document_is_erased_by_its_number",
    "a_path_never_written_is_refused",
    "another_version_is_refused_without_effect",
)
class ErasesAnyVersion(InMemoryStore):
    async def redact_if(
        self, scope: str, path: str, *, expected_version: int, actor: str | None = None
    ) -> None:
        await self.redact(scope, path=path, actor=actor)


@breaks(EXPIRATIONS, "a_racing_write_is_never_erased")
class LooksThenErases(InMemoryStore):
    async def redact_if(
        self, scope: str, path: str, *, expected_version: int, actor: str | None = None
    ) -> None:
        newest = await self.versions(scope, path, limit=1)
        if not newest or newest[0].version != expected_version:
            await super().redact_if(scope, path, expected_version=expected_version, actor=actor)
        await asyncio.sleep(0)
        await self.redact(scope, path=path, actor=actor)


@breaks(EXPIRATIONS, "a_deleted_document_is_erased_by_its_number")
class SeesTheLiveAlone(InMemoryStore):
    async def redact_if(self, scope: str, path: str, **options: Any) -> None:
        if await self.read(scope, path) is None:
            raise MemoryConflictError(scope=scope, path=path, reason="document_absent")
        await super().redact_if(scope, path, **options)


@breaks(EXPIRATIONS, "a_path_never_written_is_refused")
class ClaimsAPathForGood(InMemoryStore):
    async def redact_if(self, scope: str, path: str, **options: Any) -> None:
        if not self._documents._put_ledger(scope, path).highest:
            await self.write(scope, path, "")
            await self.delete(scope, path)
        await super().redact_if(scope, path, **options)


@breaks(EXPIRATIONS, "the_expected_version_is_erased")
class ErasesUnderNoName(InMemoryStore):
    async def redact_if(self, scope: str, path: str, **options: Any) -> None:
        await super().redact_if(scope, path, **options | {"actor": None})


@breaks(EXPIRATIONS, "the_expected_version_is_erased")
class ErasesTheScope(InMemoryStore):
    async def redact_if(
        self, scope: str, path: str, *, expected_version: int, actor: str | None = None
    ) -> None:
        await super().redact_if(scope, path, expected_version=expected_version, actor=actor)
        await self.redact(scope, actor=actor)


@breaks(EXPIRATIONS, "an_actor_that_cannot_be_kept_is_refused_whole")
class ErasesBeforeItChecksTheActor(InMemoryStore):
    async def redact_if(self, scope: str, path: str, **options: Any) -> None:
        try:
            await super().redact_if(scope, path, **options)
        except ValueError:
            await super().redact_if(scope, path, **options | {"actor": None})
            raise


@breaks(EXPIRATIONS, "bad_arguments_are_refused_in_order")
class TakesAnyMoment(InMemoryStore):
    async def aged_documents_page(
        self, scope: str, *, before: datetime, **options: Any
    ) -> Page[AgedDocument]:
        aware = before.astimezone()
        return await super().aged_documents_page(scope, before=aware, **options)


@breaks(EXPIRATIONS, "the_store_expires")
class CannotList(InMemoryStore):
    aged_documents_page = None  # type: ignore[assignment]  # what it lacks
