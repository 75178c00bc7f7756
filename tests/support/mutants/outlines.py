"""Bugs of outlines."""

from collections.abc import Sequence
from typing import Any

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import FrozenClock
from commonhold.contract import MemoryFormatError, Outline
from tests.support.mutants.registry import OUTLINES, breaks

_replace = msgspec.structs.replace


@breaks(OUTLINES, "documents_are_counted_by_first_segment")
class CountsOnlyTheNewest(InMemoryStore):
    async def outline(self, scope: str, **options: Any) -> Outline:
        outline = await super().outline(scope, **options)
        kept = {entry.path.partition("/")[0] for entry in outline.newest}
        return _replace(outline, counts={k: n for k, n in outline.counts.items() if k in kept})


@breaks(OUTLINES, "the_newest_are_the_rows_of_the_listing")
class ShowsTheOldest(InMemoryStore):
    async def outline(self, scope: str, *, excluding: Sequence[str] = (), newest: int) -> Outline:
        whole = await super().outline(scope, excluding=excluding, newest=max(newest, 10**6))
        cut = await super().outline(scope, excluding=excluding, newest=newest)
        return _replace(cut, newest=whole.newest[len(whole.newest) - len(cut.newest) :])


@breaks(OUTLINES, "the_newest_are_the_rows_of_the_listing", clock=FrozenClock)
class OrdersEqualStampsByPathDescending(InMemoryStore):
    async def outline(self, scope: str, **options: Any) -> Outline:
        outline = await super().outline(scope, **options)
        return _replace(
            outline, newest=tuple(sorted(outline.newest, key=lambda one: one.path, reverse=True))
        )


@breaks(OUTLINES, "what_is_excluded_is_neither_counted_nor_shown")
class CountsWhatIsExcluded(InMemoryStore):
    async def outline(self, scope: str, *, excluding: Sequence[str] = (), newest: int) -> Outline:
        outline = await super().outline(scope, excluding=excluding, newest=newest)
        return _replace(outline, counts=(await super().outline(scope, newest=newest)).counts)


@breaks(OUTLINES, "a_newer_document_is_refused_never_skipped")
class SkipsNewerDocumentsInOutlines(InMemoryStore):
    async def outline(self, scope: str, **options: Any) -> Outline:
        try:
            return await super().outline(scope, **options)
        except MemoryFormatError:
            return Outline(newest=(), counts={})


@breaks(OUTLINES, "bad_arguments_are_refused_in_order")
class TakesNegativeNumbers(InMemoryStore):
    async def outline(self, scope: str, *, excluding: Sequence[str] = (), newest: int) -> Outline:
        return await super().outline(scope, excluding=excluding, newest=max(newest, 0))
