"""The kit of acts by version under idempotency keys (docs/reference/stores.md, section 15)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeAlias, cast

import msgspec
import pytest

from commonhold.conformance.guarding import DIGEST, KEY, OTHER_DIGEST
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import NEVER_WRITTEN, OTHER_PATH, PATH, SCOPE
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.documents import MemoryDocument
from commonhold.contract.errors import MemoryConflictError
from commonhold.contract.idempotency import KEY_REUSED, IdempotencyKey
from commonhold.contract.stores import Conditional, Guarded, MemoryStore

FRESH = "fresh"
MOVED = "moved"

Act: TypeAlias = Callable[[Conditional], Awaitable[object]]

# One of each act, possible once in the state that `_prepare` makes.
ACTS: Mapping[str, Act] = {
    "create_if_absent": lambda view: view.create_if_absent(SCOPE, FRESH, "new", actor="a"),
    "delete_if": lambda view: view.delete_if(
        SCOPE, PATH, expected_version=2, witnesses=[(OTHER_PATH, 1)], actor="a"
    ),
    "rename_if": lambda view: view.rename_if(
        SCOPE, PATH, MOVED, expected_version=2, witnesses=[(OTHER_PATH, 1)], actor="a"
    ),
}
# The same acts, each on a condition that does not hold.
REFUSALS: Mapping[str, tuple[Act, str]] = {
    "create_if_absent": (
        lambda view: view.create_if_absent(SCOPE, PATH, "new"),
        "destination_exists",
    ),
    "delete_if": (
        lambda view: view.delete_if(
            SCOPE, PATH, expected_version=2, witnesses=[(NEVER_WRITTEN, 1)]
        ),
        "document_absent",
    ),
    "rename_if": (
        lambda view: view.rename_if(SCOPE, PATH, MOVED, expected_version=1),
        "version_mismatch",
    ),
}
each = pytest.mark.parametrize("name", ACTS)


class GuardedConditionalStore(MemoryStore, Conditional, Guarded, Protocol):
    """What the kit needs of a store."""


class GuardedConditionalContract(StoreSubject):
    """What every store does that is Guarded and Conditional.

    A subclass gives the fixture `store`.
    """

    async def test_the_view_is_conditional(self, store: GuardedConditionalStore) -> None:
        rule = Rule("15", "the view of a Guarded store has every method of Conditional")
        rule.holds(isinstance(_view(store), Conditional), _view(store))

    @each
    async def test_the_first_use_of_a_key_is_the_act_itself(
        self, store: GuardedConditionalStore, name: str
    ) -> None:
        rule = Rule("12", "under a new key the act runs, and its effect is visible")
        await _prepare(store)
        answer = await ACTS[name](_view(store))
        live = {entry.path for entry in await store.list_documents(SCOPE)}
        expected = {
            "create_if_absent": (1, {PATH, OTHER_PATH, FRESH}),
            "delete_if": (3, {OTHER_PATH}),
            "rename_if": (1, {OTHER_PATH, MOVED}),
        }
        version = answer.version if isinstance(answer, MemoryDocument) else answer
        rule.equal((version, live), expected[name])

    @each
    async def test_a_replay_answers_though_the_condition_fell(
        self, store: GuardedConditionalStore, name: str
    ) -> None:
        rule = Rule("12", "same key, same digest: the stored answer, whatever stands by then")
        await _prepare(store)
        answer = await ACTS[name](_view(store))
        rule.equal((name, await ACTS[name](_view(store))), (name, answer))
        for path in (PATH, OTHER_PATH, FRESH, MOVED):
            await store.write(SCOPE, path, "theirs")
        after = await store.history(SCOPE)
        for _ in range(2):
            rule.equal((name, await ACTS[name](_view(store))), (name, answer))
        rule.equal(await store.history(SCOPE), after)

    @each
    async def test_another_request_under_the_key_is_refused(
        self, store: GuardedConditionalStore, name: str
    ) -> None:
        rule = Rule("12", f"same key, other digest: value error {KEY_REUSED!r}, nothing runs")
        await _prepare(store)
        await ACTS[name](_view(store))
        after = await store.history(SCOPE)
        for act in ACTS.values():
            with rule.refuses(ValueError, saying=KEY_REUSED):
                await act(_view(store, digest=OTHER_DIGEST))
        rule.equal(await store.history(SCOPE), after)

    @each
    async def test_a_refused_act_leaves_the_key_free(
        self, store: GuardedConditionalStore, name: str
    ) -> None:
        rule = Rule("12", "a refusal is not stored: the key stays free, for any request")
        await _prepare(store)
        before = await store.history(SCOPE)
        act, reason = REFUSALS[name]
        for _ in range(2):
            with rule.refuses(MemoryConflictError, reason=reason):
                await act(_view(store))
        rule.equal(await store.history(SCOPE), before)
        await ACTS[name](_view(store, digest=OTHER_DIGEST))
        rule.holds(await store.history(SCOPE) != before, "nothing happened")

    @each
    async def test_after_a_redaction_a_replay_is_empty(
        self, store: GuardedConditionalStore, name: str
    ) -> None:
        rule = Rule("12", "after a redaction a replay shows its row as it is, for any digest")
        await _prepare(store)
        answer = await ACTS[name](_view(store))
        await store.redact(SCOPE)
        after = await store.history(SCOPE)
        if isinstance(answer, MemoryDocument):
            answer = msgspec.structs.replace(answer, content="", redacted=True)
        for digest in (DIGEST, OTHER_DIGEST):
            rule.equal((name, await ACTS[name](_view(store, digest=digest))), (name, answer))
        rule.equal(await store.history(SCOPE), after)

    @each
    async def test_racing_acts_under_one_key_happen_once(
        self, store: GuardedConditionalStore, name: str
    ) -> None:
        rule = Rule("12", "while the first call runs others wait for it, then replay it")
        await _prepare(store)
        before = len(await store.history(SCOPE))
        first, *others = await asyncio.gather(*(ACTS[name](_view(store)) for _ in range(5)))
        rule.equal((name, others), (name, [first] * 4))
        rows = {"create_if_absent": 1, "delete_if": 1, "rename_if": 2}
        rule.equal(len(await store.history(SCOPE)) - before, rows[name])

    async def test_of_racing_keys_one_act_succeeds(self, store: GuardedConditionalStore) -> None:
        rule = Rule("15", "of acts that expect one version exactly one succeeds, under any key")
        await _prepare(store)
        results = await asyncio.gather(
            *(
                act(_view(store, key=IdempotencyKey(KEY.client, f"race-{number}")))
                for number, act in enumerate([ACTS["delete_if"], ACTS["rename_if"]] * 2)
            ),
            return_exceptions=True,
        )
        lost = [result for result in results if isinstance(result, MemoryConflictError)]
        rule.equal([error.reason for error in lost], ["document_absent"] * 3)


def _view(
    store: GuardedConditionalStore, *, key: IdempotencyKey = KEY, digest: bytes = DIGEST
) -> Conditional:
    # The kit's first test holds the view to it.
    return cast("Conditional", store.guarded(key=key, digest=digest))


async def _prepare(store: GuardedConditionalStore) -> None:
    await store.write(SCOPE, PATH, "one")
    await store.write(SCOPE, PATH, "two")
    await store.write(SCOPE, OTHER_PATH, "two")
