"""The kit of answers told again without a mutation (docs/reference/stores.md, section 12)."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

import msgspec
import pytest

from commonhold.conformance.clocks import ControlledClock
from commonhold.conformance.guarding import (
    A_DAY_AND_MORE,
    ALMOST_A_DAY,
    DIGEST,
    KEY,
    MUTATIONS,
    OTHER_DIGEST,
    GuardedStore,
    prepare,
    state_of,
)
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import OTHER_PATH, PATH, SCOPE, THREAD, says
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.errors import MemoryConflictError
from commonhold.contract.idempotency import KEY_REUSED, IdempotencyKey, Remembered, Remembering
from commonhold.contract.stores import Mutations

# What each of `MUTATIONS` is called, where its name says more.
OPERATIONS: Mapping[str, str] = {
    "write anew": "write",
    "delete nothing": "delete",
    "redact path": "redact",
    "redact scope": "redact",
    "redact nothing": "redact",
    "append nothing": "append_projections",
    "redact no turns": "redact_turns",
}


class RememberingStore(GuardedStore, Remembering, Protocol):
    """What the kit needs of a store."""


class RememberingContract(StoreSubject):
    """What every Remembering store does. A subclass gives the fixture `store`."""

    async def test_the_store_remembers(self, store: RememberingStore) -> None:
        rule = Rule("12", "recall() tells the answer under a key")
        rule.holds(isinstance(store, Remembering), store)

    async def test_a_new_key_recalls_nothing_and_stays_free(self, store: RememberingStore) -> None:
        rule = Rule("12", "none when nothing was answered; asking leaves no trace")
        await prepare(store)
        before = await state_of(store)
        for digest in (DIGEST, OTHER_DIGEST):
            rule.equal(await store.recall(key=KEY, digest=digest), None)
        rule.equal(await state_of(store), before)
        rule.equal((await _view(store).write(SCOPE, PATH, "new")).version, 2)

    @pytest.mark.parametrize("name", MUTATIONS)
    async def test_an_answer_is_recalled_without_its_mutation(
        self, store: RememberingStore, name: str
    ) -> None:
        rule = Rule("12", "recall() gives the answer, refuses another digest, and runs nothing")
        await prepare(store)
        answer = await MUTATIONS[name](_view(store))
        after = await state_of(store)
        for _ in range(2):
            found = await _recalled(store)
            rule.equal((name, found.operation), (name, OPERATIONS.get(name, name)))
            rule.equal((name, found.answer, type(found.answer)), (name, answer, type(answer)))
        with rule.refuses(ValueError, saying=KEY_REUSED):
            await store.recall(key=KEY, digest=OTHER_DIGEST)
        rule.equal(await state_of(store), after)

    async def test_clients_recall_their_own_keys(self, store: RememberingStore) -> None:
        rule = Rule("12", "the same value of two clients is two keys")
        await _view(store).write(SCOPE, PATH, "mine")
        for client in ("client", "client:other"):
            stranger = IdempotencyKey(client, KEY.value)
            rule.equal(await store.recall(key=stranger, digest=DIGEST), None)

    async def test_a_refusal_is_not_recalled(self, store: RememberingStore) -> None:
        rule = Rule("12", "a refusal is not stored: there is nothing to recall")
        with rule.refuses(MemoryConflictError, reason="document_absent"):
            await _view(store).write(SCOPE, PATH, "x", expected_version=1)
        for digest in (DIGEST, OTHER_DIGEST):
            rule.equal(await store.recall(key=KEY, digest=digest), None)

    async def test_the_row_is_recalled_and_not_the_head(self, store: RememberingStore) -> None:
        rule = Rule("12", "recall() reads the row that the answer names, not the head")
        mine = await _view(store).write(SCOPE, PATH, "mine", actor="me")
        await store.write(SCOPE, PATH, "theirs", actor="them")
        rule.equal((await _recalled(store)).answer, mine)
        await store.delete(SCOPE, PATH)
        rule.equal((await _recalled(store)).answer, mine)

    async def test_erased_text_is_not_recalled(self, store: RememberingStore) -> None:
        rule = Rule("12", "after a redaction recall() shows the row as it is: empty, redacted")
        first = await _view(store).write(SCOPE, PATH, "secret", actor="me")
        turn_key = IdempotencyKey(KEY.client, "turn")
        turn = await store.guarded(key=turn_key, digest=DIGEST).append_turn(THREAD, [says("s")])
        await store.redact(SCOPE, path=PATH)
        await store.redact_turns(THREAD)
        blank = msgspec.structs.replace(first, content="", redacted=True)
        blank_turn = msgspec.structs.replace(turn, messages=(), redacted=True)
        # The digest went with the text: any other one confirms as little.
        for digest in (DIGEST, OTHER_DIGEST):
            rule.equal(await store.recall(key=KEY, digest=digest), Remembered("write", blank))
            rule.equal(
                await store.recall(key=turn_key, digest=digest),
                Remembered("append_turn", blank_turn),
            )

    async def test_an_answer_is_recalled_for_a_day(
        self, store: RememberingStore, clock: ControlledClock
    ) -> None:
        rule = Rule("12", "a key is remembered for 24 hours, by the store's clock")
        made = await _view(store).write(SCOPE, PATH, "x")
        clock.set(made.updated_at + ALMOST_A_DAY)
        rule.equal((await _recalled(store)).answer, made)
        clock.set(made.updated_at + A_DAY_AND_MORE)
        for digest in (DIGEST, OTHER_DIGEST):
            rule.equal(await store.recall(key=KEY, digest=digest), None)

    async def test_a_running_call_is_not_waited_for(self, store: RememberingStore) -> None:
        rule = Rule("12", "none while the first call still runs, then its whole answer")
        for number in range(6):
            key = IdempotencyKey("client:default", f"race-{number}")
            writing = store.guarded(key=key, digest=DIGEST).write(SCOPE, OTHER_PATH, "x")
            recalling = (store.recall(key=key, digest=DIGEST) for _ in range(3))
            made, found = await asyncio.gather(writing, asyncio.gather(*recalling))
            whole = await store.recall(key=key, digest=DIGEST)
            rule.equal(whole, Remembered("write", made))
            rule.holds(all(one in (None, whole) for one in found), found)


def _view(store: RememberingStore) -> Mutations:
    return store.guarded(key=KEY, digest=DIGEST)


async def _recalled(store: RememberingStore) -> Remembered:
    found = await store.recall(key=KEY, digest=DIGEST)
    Rule("12", "what was answered under a key is recalled").holds(found is not None, found)
    return found or Remembered("", None)
