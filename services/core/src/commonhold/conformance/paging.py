"""The kit of listings in pages (docs/reference/stores.md, section 8)."""

import base64
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

import pytest

from commonhold.conformance.clocks import ControlledClock
from commonhold.conformance.memory_grammar import Calls
from commonhold.conformance.memory_ledger import NAIVE
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import HUGE_NUMBERS, OTHER_SCOPE, PATH, SCOPE
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.errors import MemoryFormatError, PathInvalidError, ScopeInvalidError
from commonhold.contract.paging import Page
from commonhold.contract.stores import MemoryStore, Pageable

NextPage: TypeAlias = Callable[[str | None], Awaitable[Page[Any]]]

TAGS = ("list", "versions", "history", "trail")
JUNK = ("", "zzz", "AAAA", "=", "W10=", "\N{SNOWMAN}", "a b", "\x00", "e30=", "9" * 9000)

# More rows than any test of this kit writes.
ENDLESS = 1000


class PageableStore(MemoryStore, Pageable, Protocol):
    """What the kit needs of a store."""


class PageableContract(StoreSubject):
    """What every Pageable store does.

    A subclass gives the fixture `store` and the hooks `plant_newer_document` and
    `plant_newer_version`.
    """

    async def test_the_store_is_pageable(self, store: PageableStore) -> None:
        Rule("3", "every method of Pageable is there").holds(isinstance(store, Pageable), store)

    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 500])
    async def test_pages_joined_are_the_whole_listing(
        self, store: PageableStore, limit: int
    ) -> None:
        rule = Rule("8", "pages concatenated equal the unpaged answer, and end with no cursor")
        await self._fill(store)
        since = (await store.history(SCOPE))[4].created_at
        for whole, page in (
            (await store.list_documents(SCOPE), _listing(store, limit)),
            (await store.list_documents(SCOPE, prefix="n"), _listing(store, limit, prefix="n")),
            (await store.versions(SCOPE, PATH), _versions(store, limit)),
            (await store.history(SCOPE), _history(store, limit)),
            (await store.history(SCOPE, since=since), _history(store, limit, since=since)),
            (await store.redactions(SCOPE), _trail(store, limit)),
        ):
            rule.equal(await _joined(page, limit=limit, rule=rule), whole)

    @pytest.mark.parametrize("limit", [1, 2, 5])
    async def test_equal_stamps_are_paged_without_repeats(
        self, store: PageableStore, clock: ControlledClock, limit: int
    ) -> None:
        rule = Rule("8", "rows with equal stamps are neither lost nor repeated")
        clock.step *= 0
        await self._fill(store)
        rule.equal(
            await _joined(_history(store, limit), limit=limit, rule=rule),
            await store.history(SCOPE),
        )
        rule.equal(
            await _joined(_trail(store, limit), limit=limit, rule=rule),
            await store.redactions(SCOPE),
        )

    async def test_a_cursor_is_there_exactly_when_rows_follow(self, store: PageableStore) -> None:
        rule = Rule("2", "next_cursor is null exactly when nothing follows")
        for number in range(3):
            await store.write(SCOPE, f"p{number}", "x")
        for limit, more in {1: True, 2: True, 3: False, 4: False}.items():
            for page in (_listing(store, limit), _history(store, limit)):
                found = await page(None)
                rule.equal((len(found.items), found.next_cursor is not None), (min(limit, 3), more))

    async def test_an_empty_listing_is_one_empty_page(self, store: PageableStore) -> None:
        rule = Rule("8", "an empty listing is an empty page without a cursor")
        for page in _pages(store, 5).values():
            rule.equal(await page(None), Page())

    async def test_huge_limits_are_numbers(self, store: PageableStore) -> None:
        rule = Rule("4", "integers of any size are legal and compared as numbers", "wire.md")
        await self._fill(store)
        for limit in HUGE_NUMBERS:
            for page, whole in (
                (_history(store, limit), await store.history(SCOPE)),
                (_listing(store, limit), await store.list_documents(SCOPE)),
                (_versions(store, limit), await store.versions(SCOPE, PATH)),
                (_trail(store, limit), await store.redactions(SCOPE)),
            ):
                rule.equal(await page(None), Page(items=whole))

    @pytest.mark.parametrize("limit", [0, -1, -(2**100)])
    async def test_a_limit_below_one_is_refused(self, store: PageableStore, limit: int) -> None:
        rule = Rule("8", "a page has at least one row: limit < 1 is a value error")
        for page in _pages(store, limit).values():
            with rule.refuses(ValueError, saying="limit must be >= 1"):
                await page(None)

    @pytest.mark.parametrize("cursor", JUNK)
    async def test_junk_is_not_a_cursor(self, store: PageableStore, cursor: str) -> None:
        rule = Rule("8", "what is not a cursor of the method is refused: malformed <method> cursor")
        await self._fill(store)
        for tag, page in _pages(store, 2).items():
            with rule.refuses(ValueError, saying=f"malformed {tag} cursor: {cursor!r}"):
                await page(cursor)

    @pytest.mark.parametrize("tag", TAGS)
    async def test_a_cursor_of_another_method_is_refused(
        self, store: PageableStore, tag: str
    ) -> None:
        rule = Rule("8", "a cursor is tagged with its method and no other takes it")
        await self._fill(store)
        pages = _pages(store, 1)
        cursor = (await pages[tag](None)).next_cursor
        rule.holds(cursor, "no cursor")
        for other in set(TAGS) - {tag}:
            with rule.refuses(ValueError, saying=f"malformed {other} cursor: {cursor!r}"):
                await pages[other](cursor)

    @pytest.mark.parametrize("tag", TAGS)
    async def test_a_truncated_cursor_is_refused(self, store: PageableStore, tag: str) -> None:
        rule = Rule("8", "a truncated cursor is malformed")
        await self._fill(store)
        page = _pages(store, 1)[tag]
        whole = (await page(None)).next_cursor or ""
        for length in range(len(whole.rstrip("="))):
            part = whole[:length]
            with rule.refuses(ValueError, saying=f"malformed {tag} cursor: {part!r}"):
                await page(part)

    async def test_arguments_are_checked_in_order(self, store: PageableStore) -> None:
        rule = Rule("8", "validation order: scope, path, since, limit, cursor")
        bad = "a//b"
        scope_first: Calls = {
            "list": lambda: store.list_documents_page(bad, cursor="zzz", limit=0),
            "versions": lambda: store.versions_page(bad, bad, cursor="zzz", limit=0),
            "history": lambda: store.history_page(bad, since=NAIVE, cursor="zzz", limit=0),
            "trail": lambda: store.redactions_page(bad, since=NAIVE, cursor="zzz", limit=0),
        }
        for call in scope_first.values():
            with rule.refuses(ScopeInvalidError, scope=bad):
                await call()
        with rule.refuses(PathInvalidError, path=bad):
            await store.versions_page(SCOPE, bad, cursor="zzz", limit=0)
        for listing in (store.history_page, store.redactions_page):
            with rule.refuses(ValueError, saying="timezone-aware"):
                await listing(SCOPE, since=NAIVE, cursor="zzz", limit=0)
        for page in _pages(store, 0).values():
            with rule.refuses(ValueError, saying="limit must be >= 1"):
                await page("zzz")

    async def test_a_cursor_survives_what_happens_between_pages(self, store: PageableStore) -> None:
        rule = Rule("8", "rows written between pages cause no repeat and no skip of rows behind")
        for path in ("b", "d", "f", "h"):
            await store.write(SCOPE, path, "x")
        first = await store.list_documents_page(SCOPE, limit=2)
        await store.write(SCOPE, "a", "before the position")
        await store.write(SCOPE, "e", "behind the position")
        await store.delete(SCOPE, "d")
        second = await store.list_documents_page(SCOPE, cursor=first.next_cursor, limit=9)
        rule.equal([entry.path for entry in second.items], ["e", "f", "h"])

    async def test_ledger_cursors_survive_newer_rows(self, store: PageableStore) -> None:
        rule = Rule("8", "newer rows and redactions do not move a position")
        for number in range(4):
            await store.write(SCOPE, PATH, str(number))
            await store.redact(SCOPE)
        pages = _pages(store, 2)
        firsts = {tag: await pages[tag](None) for tag in ("versions", "history", "trail")}
        await store.write(SCOPE, PATH, "newer")
        await store.redact(SCOPE)
        for tag, first in firsts.items():
            second = await pages[tag](first.next_cursor)
            rule.equal((tag, len(second.items), second.next_cursor), (tag, 2, None))
        versions = await pages["versions"](firsts["versions"].next_cursor)
        rule.equal([row.version for row in versions.items], [2, 1])

    async def test_the_limit_may_change_between_pages(self, store: PageableStore) -> None:
        rule = Rule("9", "a cursor is a position: the limit may change", "wire.md")
        await self._fill(store)
        first = await store.history_page(SCOPE, limit=1)
        rest = await store.history_page(SCOPE, cursor=first.next_cursor, limit=400)
        rule.equal((*first.items, *rest.items), await store.history(SCOPE))
        again = await store.history_page(SCOPE, cursor=first.next_cursor, limit=400)
        rule.equal(again, rest)

    async def test_a_cursor_is_not_bound_to_its_scope(self, store: PageableStore) -> None:
        rule = Rule("8", "a cursor is not bound to scope or filters: the position is applied there")
        for scope in (SCOPE, OTHER_SCOPE):
            for path in ("a", "b", "c"):
                await store.write(scope, path, "x")
        cursor = (await store.list_documents_page(SCOPE, limit=1)).next_cursor
        page = await store.list_documents_page(OTHER_SCOPE, cursor=cursor, limit=9)
        rule.equal([entry.path for entry in page.items], ["b", "c"])
        page = await store.list_documents_page(SCOPE, prefix="c", cursor=cursor, limit=9)
        rule.equal([entry.path for entry in page.items], ["c"])

    async def test_a_cursor_is_plain_text(self, store: PageableStore) -> None:
        rule = Rule("8", "a cursor is opaque ASCII text that survives a round trip through JSON")
        await self._fill(store)
        for page in _pages(store, 1).values():
            cursor = (await page(None)).next_cursor
            rule.holds(cursor is not None and cursor.isascii() and cursor.isprintable(), cursor)

    @pytest.mark.parametrize("tag", TAGS)
    async def test_a_forged_cursor_is_never_more_than_refused(
        self, store: PageableStore, tag: str
    ) -> None:
        rule = Rule("8", "whatever a cursor holds, it is a position or a value error")
        await self._fill(store)
        tails = ("", "{}", f"{2**100}", '"\\u0000",1', f'{2**70},"a",{2**70}', "null,null,null")
        for text in (*(f'["{tag}",{tail}]' for tail in tails), "[" * 900):
            cursor = base64.urlsafe_b64encode(text.encode()).decode()
            with rule.refuses(ValueError, saying=f"malformed {tag} cursor"):
                await _pages(store, 2)[tag](cursor)

    async def test_a_newer_row_is_refused_in_pages_too(self, store: PageableStore) -> None:
        rule = Rule("4", "a page that would contain a row of another format is refused")
        await store.write(SCOPE, PATH, "one")
        await self.plant_newer_document(store, SCOPE, PATH)
        for tag in ("list", "versions", "history"):
            with rule.refuses(MemoryFormatError, scope=SCOPE, path=PATH):
                await _pages(store, 5)[tag](None)

    async def _fill(self, store: PageableStore) -> None:
        for path in (PATH, "Notes", "a", "n", "n.a"):
            await store.write(SCOPE, path, "one")
            await store.write(SCOPE, path, "two")
        await store.delete(SCOPE, "a")
        for _ in range(3):
            await store.write(SCOPE, PATH, "more")
        for target in (None, PATH, None, "a"):
            await store.redact(SCOPE, path=target)
        await store.write(OTHER_SCOPE, PATH, "elsewhere")


def _pages(store: PageableStore, limit: int) -> dict[str, NextPage]:
    return {
        "list": _listing(store, limit),
        "versions": _versions(store, limit),
        "history": _history(store, limit),
        "trail": _trail(store, limit),
    }


def _listing(store: PageableStore, limit: int, *, prefix: str = "") -> NextPage:
    return lambda cursor: store.list_documents_page(
        SCOPE, prefix=prefix, cursor=cursor, limit=limit
    )


def _versions(store: PageableStore, limit: int) -> NextPage:
    return lambda cursor: store.versions_page(SCOPE, PATH, cursor=cursor, limit=limit)


def _history(store: PageableStore, limit: int, *, since: Any = None) -> NextPage:
    return lambda cursor: store.history_page(SCOPE, since=since, cursor=cursor, limit=limit)


def _trail(store: PageableStore, limit: int) -> NextPage:
    return lambda cursor: store.redactions_page(SCOPE, cursor=cursor, limit=limit)


async def _joined(page: NextPage, *, limit: int, rule: Rule) -> tuple[object, ...]:
    found = await page(None)
    rows = [*found.items]
    while found.next_cursor is not None:
        rule.holds(0 < len(found.items) <= limit, found)
        rule.holds(len(rows) < ENDLESS, f"{len(rows)} rows and a cursor still")
        found = await page(found.next_cursor)
        rows.extend(found.items)
    return tuple(rows)
