"""Bugs of listings by digest."""

import hashlib
import re
import unicodedata

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import MemoryDigest, Page
from tests.support.mutants.registry import DIGESTS, breaks

_replace = msgspec.structs.replace


class _Digests(InMemoryStore):
    """A store whose rows a mutant bends; the text that a row is about is at hand."""

    async def digest_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryDigest]:
        page = await super().digest_documents_page(scope, prefix=prefix, cursor=cursor, limit=limit)
        items = []
        for row in page.items:
            document = await self.read(scope, row.path)
            assert document is not None
            items.append(self._bent(row, document.content))
        return Page(items=tuple(items), next_cursor=page.next_cursor)

    def _bent(self, row: MemoryDigest, content: str) -> MemoryDigest:
        raise NotImplementedError


def _digest(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()


@breaks(DIGESTS, "a_digest_is_the_sha_256_of_the_utf_8")
class DigestsTrimmedText(_Digests):
    def _bent(self, row: MemoryDigest, content: str) -> MemoryDigest:
        return _replace(row, digest=_digest(content.strip()))


@breaks(DIGESTS, "a_digest_is_the_sha_256_of_the_utf_8")
class DigestsNormalisedText(_Digests):
    def _bent(self, row: MemoryDigest, content: str) -> MemoryDigest:
        return _replace(row, digest=_digest(unicodedata.normalize("NFC", content)))


@breaks(DIGESTS, "a_digest_is_the_sha_256_of_the_utf_8")
class DigestsAnotherEncoding(_Digests):
    def _bent(self, row: MemoryDigest, content: str) -> MemoryDigest:
        return _replace(row, digest=hashlib.sha256(content.encode("utf-16-le")).digest())


@breaks(DIGESTS, "a_digest_is_the_sha_256_of_the_utf_8")
class DigestsTheBeginning(_Digests):
    def _bent(self, row: MemoryDigest, content: str) -> MemoryDigest:
        return _replace(row, digest=_digest(content[:4096]))


@breaks(DIGESTS, "white_space_alone_is_blank")
class TakesOnlyTheEmptyForBlank(_Digests):
    def _bent(self, row: MemoryDigest, content: str) -> MemoryDigest:
        return _replace(row, is_blank=content == "")


@breaks(DIGESTS, "white_space_alone_is_blank")
class KnowsOnlyTheSpacesOfAscii(_Digests):
    def _bent(self, row: MemoryDigest, content: str) -> MemoryDigest:
        return _replace(row, is_blank=re.fullmatch(r"[ \t\n\r\f\v]*", content) is not None)


@breaks(DIGESTS, "white_space_alone_is_blank")
class TakesTheUnseenForBlank(_Digests):
    def _bent(self, row: MemoryDigest, content: str) -> MemoryDigest:
        return _replace(row, is_blank=not any(one.isalnum() or one == "." for one in content))


@breaks(DIGESTS, "a_redacted_document_has_the_digest_of_nothing")
class RemembersErasedDigests(_Digests):
    def _bent(self, row: MemoryDigest, content: str) -> MemoryDigest:
        return _replace(row, digest=_digest("secret")) if row.redacted else row


@breaks(DIGESTS, "a_redacted_document_has_the_digest_of_nothing", "digests_are_the_listing")
class LeavesTheErasedOut(InMemoryStore):
    async def digest_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryDigest]:
        page = await super().digest_documents_page(scope, prefix=prefix, cursor=cursor, limit=limit)
        items = tuple(row for row in page.items if not row.redacted)
        return Page(items=items, next_cursor=page.next_cursor)


@breaks(DIGESTS, "bad_arguments_are_refused")
class TakesCursorsOfListings(InMemoryStore):
    async def digest_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryDigest]:
        if cursor is not None:
            await self.list_documents_page(scope, prefix=prefix, cursor=cursor, limit=limit)
        return await super().digest_documents_page(scope, prefix=prefix, limit=limit)


@breaks(DIGESTS, "a_newer_format_is_refused")
class SkipsNewerDocuments(InMemoryStore):
    async def digest_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryDigest]:
        found = []
        for path, ledger in sorted(self._documents._paths(scope).items()):
            if ledger.live is not None and ledger.live.format == 1 and path.startswith(prefix):
                found.append(path)
        rows = [
            (await super().digest_documents_page(scope, prefix=path, limit=1)).items[0]
            for path in found
        ]
        return Page(items=tuple(rows))
