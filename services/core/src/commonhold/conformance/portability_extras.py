"""What keys beside the contract's own a unit may bring, and that each store keeps those."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, TypeAlias

import msgspec
import pytest

from commonhold.conformance.archives import document
from commonhold.conformance.portability_refusals import PortableStore
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import PATH, SCOPE
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.documents import ScopeArchive
from commonhold.contract.extras import MOST_EXTRA_LEVELS, MOST_EXTRA_VALUES, RESERVED_KEYS

_Nest: TypeAlias = Callable[[Any], Any]

NESTS: Mapping[str, tuple[_Nest, ...]] = {
    "lists": (lambda inner: [inner],),
    "maps": (lambda inner: {"k": inner},),
    "both": (lambda inner: [inner], lambda inner: {"k": inner}),
}


def nested(levels: int, nests: tuple[_Nest, ...]) -> dict[str, Any]:
    """An `extra` whose innermost value is so many levels below it."""
    value: Any = "deep"
    for level in range(levels - 1):
        value = nests[level % len(nests)](value)
    return {"k": value}


UNFIT: Mapping[str, Mapping[Any, Any]] = {
    **{f"reserved {name}": {"k": "v", name: 7} for name in RESERVED_KEYS},
    **{f"too deep in {kind}": nested(MOST_EXTRA_LEVELS + 1, NESTS[kind]) for kind in NESTS},
    "too many values": {"k": [0] * MOST_EXTRA_VALUES},
    "no number": {"k": [float("nan")]},
    "no finite number": {"k": float("-inf")},
    "no text for a key": {"k": {1: "v"}},
    "no JSON": {"k": date(2026, 1, 1)},
}


class RestoreExtraSlice(StoreSubject):
    """Part of PortableContract."""

    @pytest.mark.parametrize("case", UNFIT)
    async def test_extra_that_not_every_store_holds_is_refused_whole(
        self, store: PortableStore, case: str
    ) -> None:
        rule = Rule("9", f"extra that some store cannot hold is refused by all: {case}")
        bad = msgspec.structs.replace(document(PATH, 1), extra=UNFIT[case])
        with rule.refuses(ValueError):
            await store.restore_scope(
                ScopeArchive(scope=SCOPE, documents=(document("good", 1), bad))
            )
        rule.equal(await store.scopes(), ())

    @pytest.mark.parametrize("kind", NESTS)
    async def test_extra_lands_as_deep_as_it_may_be(self, store: PortableStore, kind: str) -> None:
        rule = Rule("9", f"extra of {MOST_EXTRA_LEVELS} levels is kept as it is, of {kind}")
        extra = nested(MOST_EXTRA_LEVELS, NESTS[kind])
        landed = msgspec.structs.replace(document(PATH, 1), extra=extra)
        await store.restore_scope(ScopeArchive(scope=SCOPE, documents=(landed,)))
        rule.equal(await store.read(SCOPE, PATH), landed)
        await store.write(SCOPE, PATH, "another")
        await store.rename(SCOPE, PATH, "moved")
        await store.redact(SCOPE)
        found = await store.read(SCOPE, "moved")
        rule.equal(found and found.extra, extra)
