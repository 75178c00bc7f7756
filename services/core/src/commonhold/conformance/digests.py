"""The kit of digests (docs/reference/stores.md, section 16)."""

import hashlib
from typing import Protocol

import pytest

from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import SCOPE
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.documents import MemoryDigest
from commonhold.contract.errors import MemoryFormatError, ScopeInvalidError
from commonhold.contract.stores import Digestible, MemoryStore, Pageable

TEXTS = {
    "bare": "same",
    "bytes": "\u00e9",
    "composed": "e\u0301",
    "crlf": "same\r\n",
    "empty": "",
    "heavy": "x\u00e9" * 30_000,
    "lead": " same",
    "long": " \t" * 9_000,
    "plane": "\U0001f600",
    "trail": "same\n",
    "twin": "same",
}
BLANKS = tuple(chr(point) for point in range(1, 0x3001) if chr(point).isspace())
# Neither str.strip nor a reader takes these for nothing.
MARKS = ("\u200b", "\ufeff", "\u180e", "\u2060", "\x1b", "\x07", "\u3164", "\\n", "a")


class DigestibleStore(MemoryStore, Digestible, Pageable, Protocol):
    """What the kit needs of a store."""


class DigestibleContract(StoreSubject):
    """What every Digestible store does.

    A subclass gives the fixture `store` and the hook `plant_newer_document`.
    """

    async def test_the_store_digests(self, store: DigestibleStore) -> None:
        rule = Rule("3", "every method of Digestible is there")
        rule.holds(isinstance(store, Digestible), store)

    async def test_a_digest_is_the_sha_256_of_the_utf_8(self, store: DigestibleStore) -> None:
        rule = Rule("16", "digest is the SHA-256 of the content in UTF-8, as it was written")
        for path, text in TEXTS.items():
            await store.write(SCOPE, path, text)
        found = {one.path: one.digest for one in await _digests(store)}
        expected = {path: hashlib.sha256(text.encode()).digest() for path, text in TEXTS.items()}
        rule.equal(found, expected)

    async def test_white_space_alone_is_blank(self, store: DigestibleStore) -> None:
        rule = Rule("16", "is_blank holds when nothing but white space, as str.strip, is there")
        blanks = ["", "".join(BLANKS), *BLANKS, *(f" {one}\n" for one in BLANKS)]
        marks = [*MARKS, *(f" \n{one}\t" for one in MARKS), " \n" * 9_000 + "."]
        for number, text in enumerate([*blanks, *marks]):
            await store.write(SCOPE, f"n{number:03}", text)
        found = [one.is_blank for one in await _digests(store)]
        rule.equal(found, [True] * len(blanks) + [False] * len(marks))

    @pytest.mark.parametrize("limit", [1, 2, 3, 500])
    async def test_digests_are_the_listing(self, store: DigestibleStore, limit: int) -> None:
        rule = Rule("16", "rows, order and pages are those of list_documents_page")
        for path in ("b", "a/b", "B", "a", "a.b", "gone"):
            await store.write(SCOPE, path, path)
            await store.write(SCOPE, path, f"{path} again")
        await store.delete(SCOPE, "gone")
        await store.redact(SCOPE, path="B")
        for prefix in ("", "a", "a/", "B", "nope", "\x00"):
            expected = await store.list_documents(SCOPE, prefix=prefix)
            found = await _digests(store, prefix=prefix, limit=limit)
            rule.equal([_entry(one) for one in found], [_entry(one) for one in expected])

    async def test_a_redacted_document_has_the_digest_of_nothing(
        self, store: DigestibleStore
    ) -> None:
        rule = Rule("16", "of erased content no digest is left: it would let it be guessed")
        await store.write(SCOPE, "p", "secret")
        await store.redact(SCOPE, path="p")
        (found,) = await _digests(store)
        rule.equal(
            (found.redacted, found.is_blank, found.digest),
            (True, True, hashlib.sha256().digest()),
        )

    async def test_bad_arguments_are_refused(self, store: DigestibleStore) -> None:
        rule = Rule("16", "arguments are checked as those of list_documents_page")
        await store.write(SCOPE, "a", "x")
        await store.write(SCOPE, "b", "x")
        with rule.refuses(ScopeInvalidError):
            await store.digest_documents_page("nope", limit=0)
        with rule.refuses(ValueError, saying="'prefix' must not contain a lone surrogate"):
            await store.digest_documents_page(SCOPE, prefix="\ud800", limit=0)
        with rule.refuses(ValueError, saying="limit must be >= 1, got 0"):
            await store.digest_documents_page(SCOPE, cursor="zzz", limit=0)
        listed = (await store.list_documents_page(SCOPE, limit=1)).next_cursor
        for cursor in ("zzz", "", listed or ""):
            with rule.refuses(ValueError, saying=f"malformed digests cursor: {cursor!r}"):
                await store.digest_documents_page(SCOPE, cursor=cursor, limit=1)

    async def test_a_newer_format_is_refused(self, store: DigestibleStore) -> None:
        rule = Rule("4", "an answer that would contain a newer row is refused")
        await store.write(SCOPE, "a", "x")
        await store.write(SCOPE, "b", "x")
        await self.plant_newer_document(store, SCOPE, "b")
        with rule.refuses(MemoryFormatError, path="b"):
            await _digests(store)
        rule.equal([one.path for one in await _digests(store, prefix="a")], ["a"])


async def _digests(
    store: DigestibleStore, *, prefix: str = "", limit: int = 500
) -> list[MemoryDigest]:
    found: list[MemoryDigest] = []
    cursor: str | None = None
    while True:
        page = await store.digest_documents_page(SCOPE, prefix=prefix, cursor=cursor, limit=limit)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


def _entry(row: object) -> tuple[object, ...]:
    names = ("path", "version", "created_at", "updated_at", "redacted")
    return tuple(getattr(row, name) for name in names)
