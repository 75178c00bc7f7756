"""The kit of mutations under idempotency keys (docs/reference/stores.md, section 12)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Protocol, TypeAlias

import msgspec
import pytest

from commonhold.conformance.archives import conversation_archive, scope_archive
from commonhold.conformance.clocks import ControlledClock
from commonhold.conformance.conversation_projections import entry
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import (
    OTHER_PATH,
    OTHER_SCOPE,
    OTHER_THREAD,
    PATH,
    SCOPE,
    THREAD,
    says,
)
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.errors import (
    ConversationIdInvalidError,
    DocumentNotFoundError,
    MemoryConflictError,
    PathInvalidError,
)
from commonhold.contract.idempotency import KEY_REUSED, IdempotencyKey
from commonhold.contract.stores import (
    ConversationStore,
    Erasable,
    Guarded,
    MemoryStore,
    Mutations,
    Portable,
)

KEY = IdempotencyKey("client:default", "key-1")
DIGEST = b"the digest of one request"
OTHER_DIGEST = b"the digest of another request"
ALMOST_A_DAY = timedelta(hours=23, minutes=59)
A_DAY_AND_MORE = timedelta(hours=24, minutes=1)

Mutation: TypeAlias = Callable[[Mutations], Awaitable[object]]

# One of each mutation, possible in the state that `_prepare` makes.
MUTATIONS: Mapping[str, Mutation] = {
    "write": lambda view: view.write(SCOPE, PATH, "new", actor="a", expected_version=1),
    "write anew": lambda view: view.write(SCOPE, "fresh", "new"),
    "delete": lambda view: view.delete(SCOPE, PATH),
    "delete nothing": lambda view: view.delete(SCOPE, "never-written"),
    "rename": lambda view: view.rename(SCOPE, PATH, "moved", actor="a"),
    "redact path": lambda view: view.redact(SCOPE, path=PATH),
    "redact scope": lambda view: view.redact(SCOPE),
    "redact nothing": lambda view: view.redact(OTHER_SCOPE),
    "append_turn": lambda view: view.append_turn(THREAD, [says("new")], actor="a"),
    "append_projections": lambda view: view.append_projections(THREAD, [entry(1, "new")]),
    "append nothing": lambda view: view.append_projections(OTHER_THREAD, []),
    "redact_turns": lambda view: view.redact_turns(THREAD, through=1),
    "redact no turns": lambda view: view.redact_turns(OTHER_THREAD),
    "restore_scope": lambda view: view.restore_scope(
        msgspec.structs.replace(scope_archive(), scope=OTHER_SCOPE)
    ),
    "restore_conversation": lambda view: view.restore_conversation(
        msgspec.structs.replace(conversation_archive(), conversation_id=OTHER_THREAD)
    ),
}
# What erases what the mutation of that name wrote.
ERASURES: Mapping[str, Mutation] = {
    "write": lambda view: view.redact(SCOPE, path=PATH),
    "write anew": lambda view: view.redact(SCOPE),
    "rename": lambda view: view.redact(SCOPE, path="moved"),
    "append_turn": lambda view: view.redact_turns(THREAD, turns=[2]),
    "append_projections": lambda view: view.redact_turns(THREAD),
    "restore_scope": lambda view: view.redact(OTHER_SCOPE),
    "restore_conversation": lambda view: view.redact_turns(OTHER_THREAD),
}


class GuardedStore(MemoryStore, ConversationStore, Erasable, Portable, Guarded, Protocol):
    """What the kit needs of a store."""


class GuardedContract(StoreSubject):
    """What every Guarded store does. A subclass gives the fixture `store`."""

    async def test_the_store_is_guarded(self, store: GuardedStore) -> None:
        rule = Rule("12", "guarded() gives a view with every mutation")
        rule.holds(isinstance(store, Guarded), store)
        rule.holds(isinstance(_view(store), Mutations), _view(store))

    @pytest.mark.parametrize("name", MUTATIONS)
    async def test_the_first_use_of_a_key_is_the_mutation_itself(
        self, store: GuardedStore, name: str
    ) -> None:
        rule = Rule("12", "under a new key the mutation runs, and its effect is visible")
        await prepare(store)
        before = await state_of(store)
        answer = await MUTATIONS[name](_view(store))
        changed = await state_of(store) != before
        rule.equal((name, changed), (name, "nothing" not in name and "no turns" not in name))
        rule.equal(await MUTATIONS[name](_view(store)), answer)

    @pytest.mark.parametrize("name", MUTATIONS)
    async def test_a_replay_answers_the_same_and_changes_nothing(
        self, store: GuardedStore, name: str
    ) -> None:
        rule = Rule("12", "same key, same digest: the stored answer comes back, nothing runs")
        await prepare(store)
        answer = await MUTATIONS[name](_view(store))
        after = await state_of(store)
        for _ in range(2):
            rule.equal((name, await MUTATIONS[name](_view(store))), (name, answer))
        rule.equal(await state_of(store), after)

    @pytest.mark.parametrize("name", MUTATIONS)
    async def test_another_request_under_the_key_is_refused(
        self, store: GuardedStore, name: str
    ) -> None:
        rule = Rule("12", f"same key, other digest: value error {KEY_REUSED!r}, nothing runs")
        await prepare(store)
        await store.guarded(key=KEY, digest=DIGEST).write(SCOPE, OTHER_PATH, "first")
        after = await state_of(store)
        with rule.refuses(ValueError, saying=KEY_REUSED):
            await MUTATIONS[name](store.guarded(key=KEY, digest=OTHER_DIGEST))
        rule.equal(await state_of(store), after)

    @pytest.mark.parametrize("name", MUTATIONS)
    async def test_every_mutation_remembers_its_digest(
        self, store: GuardedStore, name: str
    ) -> None:
        rule = Rule("12", f"same key, other digest: value error {KEY_REUSED!r}, nothing runs")
        await prepare(store)
        await MUTATIONS[name](_view(store))
        after = await state_of(store)
        with rule.refuses(ValueError, saying=KEY_REUSED):
            await MUTATIONS[name](store.guarded(key=KEY, digest=OTHER_DIGEST))
        rule.equal(await state_of(store), after)

    async def test_a_view_may_be_kept(self, store: GuardedStore) -> None:
        view = _view(store)
        first = await view.write(SCOPE, PATH, "x")
        rule = Rule("12", "a second call through one view is a replay")
        rule.equal(await view.write(SCOPE, PATH, "x"), first)
        rule.equal(len(await store.history(SCOPE)), 1)

    async def test_without_a_key_nothing_is_remembered(self, store: GuardedStore) -> None:
        await _view(store).write(SCOPE, PATH, "x")
        rule = Rule("12", "a call without a key runs, whatever was done under keys")
        rule.equal((await store.write(SCOPE, PATH, "x")).version, 2)
        rule.equal((await store.write(SCOPE, PATH, "x")).version, 3)

    async def test_a_replay_never_shows_another_writers_version(self, store: GuardedStore) -> None:
        rule = Rule("12", "a replay reads the version row it names, not the head")
        mine = await _view(store).write(SCOPE, PATH, "mine", actor="me")
        await store.write(SCOPE, PATH, "theirs", actor="them")
        rule.equal(await _view(store).write(SCOPE, PATH, "mine", actor="me"), mine)
        await store.delete(SCOPE, PATH)
        rule.equal(await _view(store).write(SCOPE, PATH, "mine", actor="me"), mine)
        await store.write(SCOPE, PATH, "theirs again")
        rule.equal(await _view(store).write(SCOPE, PATH, "mine", actor="me"), mine)

    async def test_a_replayed_update_keeps_its_own_stamps(self, store: GuardedStore) -> None:
        rule = Rule("12", "a replay answers created_at and updated_at as they were answered")
        await store.write(SCOPE, PATH, "one")
        second = await _view(store).write(SCOPE, PATH, "two")
        rule.equal(second.created_at < second.updated_at, True)
        await store.write(SCOPE, PATH, "three")
        rule.equal(await _view(store).write(SCOPE, PATH, "two"), second)

    async def test_a_replayed_rename_answers_its_own_destination(self, store: GuardedStore) -> None:
        rule = Rule("12", "a replayed rename answers the row it made at the destination")
        await store.write(SCOPE, PATH, "moved")
        moved = await _view(store).rename(SCOPE, PATH, OTHER_PATH)
        await store.write(SCOPE, OTHER_PATH, "theirs")
        await store.write(SCOPE, PATH, "new source")
        rule.equal(await _view(store).rename(SCOPE, PATH, OTHER_PATH), moved)
        rule.equal(len(await store.history(SCOPE)), 5)

    async def test_a_replayed_append_answers_its_own_turn(self, store: GuardedStore) -> None:
        rule = Rule("12", "a replayed append answers the turn it made")
        made = await _view(store).append_turn(THREAD, [says("mine")], actor="me")
        await store.append_turn(THREAD, [says("theirs")])
        rule.equal(await _view(store).append_turn(THREAD, [says("mine")], actor="me"), made)
        rule.equal(await store.last_turn_number(THREAD), 2)

    async def test_flags_and_counts_are_remembered(self, store: GuardedStore) -> None:
        rule = Rule("12", "a replay answers the flag or count of the first call")
        await store.write(SCOPE, PATH, "x")
        rule.equal(await _view(store).delete(SCOPE, PATH), True)
        await store.write(SCOPE, PATH, "again")
        rule.equal(await _view(store).delete(SCOPE, PATH), True)
        rule.equal(await store.read(SCOPE, PATH) is not None, True)
        other = store.guarded(key=IdempotencyKey("client:default", "key-2"), digest=DIGEST)
        rule.equal(await other.redact(SCOPE), 1)
        await store.write(SCOPE, OTHER_PATH, "y")
        rule.equal(await other.redact(SCOPE), 1)
        found = await store.read(SCOPE, OTHER_PATH)
        rule.equal(found and found.content, "y")

    async def test_a_replay_after_a_path_redaction_is_empty(self, store: GuardedStore) -> None:
        rule = Rule("12", "after a redaction a replay shows the row as it is: empty, redacted")
        first = await _view(store).write(SCOPE, PATH, "secret", actor="me")
        await store.redact(SCOPE, path=PATH)
        blank = msgspec.structs.replace(first, content="", redacted=True)
        rule.equal(await _view(store).write(SCOPE, PATH, "secret", actor="me"), blank)
        await store.write(SCOPE, PATH, "fresh")
        rule.equal(await _view(store).write(SCOPE, PATH, "secret", actor="me"), blank)

    async def test_a_replay_after_an_erased_turn_is_empty(self, store: GuardedStore) -> None:
        rule = Rule("12", "after a redaction a replay shows the turn as it is: empty, redacted")
        made = await _view(store).append_turn(THREAD, [says("secret")], actor="me")
        await store.redact_turns(THREAD)
        blank = msgspec.structs.replace(made, messages=(), redacted=True)
        rule.equal(await _view(store).append_turn(THREAD, [says("secret")], actor="me"), blank)

    @pytest.mark.parametrize("name", ERASURES)
    async def test_after_a_redaction_the_key_matches_any_body(
        self, store: GuardedStore, name: str
    ) -> None:
        rule = Rule("12", "a redaction nulls the digest: no guess of erased text is confirmed")
        await prepare(store)
        await MUTATIONS[name](_view(store))
        await ERASURES[name](store)
        after = await state_of(store)
        same = await MUTATIONS[name](_view(store))
        other = await MUTATIONS[name](store.guarded(key=KEY, digest=OTHER_DIGEST))
        rule.equal((name, other), (name, same))
        rule.equal(await state_of(store), after)

    async def test_a_guarded_redaction_nulls_digests_too(self, store: GuardedStore) -> None:
        rule = Rule("12", "a redaction under a key forgets as one without does")
        await _view(store).write(SCOPE, PATH, "secret")
        eraser = store.guarded(key=IdempotencyKey("client:default", "key-2"), digest=DIGEST)
        rule.equal(await eraser.redact(SCOPE, path=PATH), 1)
        replay = await store.guarded(key=KEY, digest=OTHER_DIGEST).write(SCOPE, PATH, "guess")
        rule.equal((replay.version, replay.content, replay.redacted), (1, "", True))

    async def test_a_redaction_elsewhere_leaves_the_digest(self, store: GuardedStore) -> None:
        rule = Rule("12", "only a redaction of what the request wrote nulls its digest")
        await _view(store).write(SCOPE, PATH, "kept")
        await store.write(SCOPE, OTHER_PATH, "secret")
        await store.write(OTHER_SCOPE, PATH, "secret")
        await store.redact(SCOPE, path=OTHER_PATH)
        await store.redact(OTHER_SCOPE)
        with rule.refuses(ValueError, saying=KEY_REUSED):
            await store.guarded(key=KEY, digest=OTHER_DIGEST).write(SCOPE, PATH, "other")
        found = await _view(store).write(SCOPE, PATH, "kept")
        rule.equal((found.content, found.redacted), ("kept", False))

    async def test_an_erased_turn_elsewhere_leaves_the_digest(self, store: GuardedStore) -> None:
        rule = Rule("12", "only a redaction of what the request wrote nulls its digest")
        await store.append_turn(THREAD, [says("one")])
        await _view(store).append_turn(THREAD, [says("kept")])
        await store.append_turn(OTHER_THREAD, [says("x")])
        await store.redact_turns(THREAD, turns=[1])
        await store.redact_turns(OTHER_THREAD)
        with rule.refuses(ValueError, saying=KEY_REUSED):
            await store.guarded(key=KEY, digest=OTHER_DIGEST).append_turn(THREAD, [says("other")])

    async def test_a_refusal_is_not_remembered(self, store: GuardedStore) -> None:
        rule = Rule("12", "a refusal is not stored: the key stays free, for any request")
        view = _view(store)
        with rule.refuses(MemoryConflictError, reason="document_absent"):
            await view.write(SCOPE, PATH, "x", expected_version=1)
        with rule.refuses(PathInvalidError):
            await view.write(SCOPE, "a//b", "x")
        with rule.refuses(DocumentNotFoundError):
            await view.rename(SCOPE, PATH, OTHER_PATH)
        with rule.refuses(ConversationIdInvalidError):
            await view.append_turn("a/b", [says("x")])
        with rule.refuses(ValueError, saying="a turn must carry at least one message"):
            await view.append_turn(THREAD, [])
        await store.write(SCOPE, PATH, "one")
        retried = await store.guarded(key=KEY, digest=OTHER_DIGEST).write(
            SCOPE, PATH, "two", expected_version=1
        )
        rule.equal((retried.version, retried.content), (2, "two"))

    async def test_a_refused_restore_leaves_the_key_free(self, store: GuardedStore) -> None:
        rule = Rule("12", "a refused restore is not stored")
        await store.write(SCOPE, PATH, "occupied")
        with rule.refuses(MemoryConflictError, reason="target_occupied"):
            await _view(store).restore_scope(scope_archive())
        await _view(store).restore_scope(
            msgspec.structs.replace(scope_archive(), scope=OTHER_SCOPE)
        )
        rule.equal(await store.scopes(), (SCOPE, OTHER_SCOPE))

    async def test_clients_have_their_own_keys(self, store: GuardedStore) -> None:
        rule = Rule("12", "the same value of two clients is two keys")
        for number, client in enumerate(("client:a", "client:b", "client"), start=1):
            view = store.guarded(key=IdempotencyKey(client, KEY.value), digest=DIGEST)
            rule.equal((await view.write(SCOPE, PATH, client)).version, number)

    @pytest.mark.parametrize("value", ["!", "~", "a" * 255, "a%_\\'\"", "A", "a"])
    async def test_a_key_is_opaque_text(self, store: GuardedStore, value: str) -> None:
        rule = Rule("12", "a key is 1 to 255 visible ASCII characters, compared as they are")
        await store.guarded(key=IdempotencyKey("c", "a"), digest=OTHER_DIGEST).delete(SCOPE, PATH)
        view = store.guarded(key=IdempotencyKey("d", value), digest=DIGEST)
        first = await view.write(SCOPE, PATH, "x")
        rule.equal(await view.write(SCOPE, PATH, "x"), first)

    async def test_a_key_lives_for_a_day(self, store: GuardedStore, clock: ControlledClock) -> None:
        rule = Rule("12", "a key is remembered for 24 hours, by the store's clock")
        first = await _view(store).write(SCOPE, PATH, "x")
        made_at = first.updated_at
        clock.set(made_at + ALMOST_A_DAY)
        rule.equal(await _view(store).write(SCOPE, PATH, "x"), first)
        with rule.refuses(ValueError, saying=KEY_REUSED):
            await store.guarded(key=KEY, digest=OTHER_DIGEST).write(SCOPE, PATH, "y")
        clock.set(made_at + A_DAY_AND_MORE)
        again = await store.guarded(key=KEY, digest=OTHER_DIGEST).write(SCOPE, PATH, "y")
        rule.equal((again.version, again.content), (2, "y"))
        # The new use starts a life of its own.
        clock.set(made_at + A_DAY_AND_MORE + ALMOST_A_DAY)
        replay = await store.guarded(key=KEY, digest=OTHER_DIGEST).write(SCOPE, PATH, "y")
        rule.equal(replay, again)

    async def test_racing_calls_under_one_key_happen_once(self, store: GuardedStore) -> None:
        rule = Rule("12", "while the first call runs others wait for it, then replay it")
        for number in range(6):
            key = IdempotencyKey("client:default", f"race-{number}")
            answers = await asyncio.gather(
                *(
                    store.guarded(key=key, digest=DIGEST).append_turn(THREAD, [says("once")])
                    for _ in range(5)
                )
            )
            rule.equal([answer.turn for answer in answers], [number + 1] * 5)
        rule.equal(await store.last_turn_number(THREAD), 6)

    async def test_of_racing_requests_under_one_key_one_wins(self, store: GuardedStore) -> None:
        rule = Rule("12", "of different requests under one key one runs, the others are refused")
        for number in range(6):
            key = IdempotencyKey("client:default", f"race-{number}")
            results = await asyncio.gather(
                *(
                    store.guarded(key=key, digest=bytes([n])).write(SCOPE, PATH, f"writer {n}")
                    for n in range(4)
                ),
                return_exceptions=True,
            )
            refused = [result for result in results if isinstance(result, ValueError)]
            rule.equal(([str(error) for error in refused]), [KEY_REUSED] * 3)
        rule.equal(len(await store.history(SCOPE)), 6)


def _view(store: GuardedStore) -> Mutations:
    return store.guarded(key=KEY, digest=DIGEST)


async def prepare(store: GuardedStore) -> None:
    await store.write(SCOPE, PATH, "old")
    await store.append_turn(THREAD, [says("old")])
    await store.append_projections(THREAD, [entry(1, "old")])


async def state_of(store: GuardedStore) -> object:
    """Everything there is to read, to see that nothing changed."""
    scopes = await store.scopes()
    names = await store.conversations()
    return (
        [(scope, await store.list_documents(scope)) for scope in scopes],
        [(scope, await store.history(scope)) for scope in scopes],
        [(scope, await store.redactions(scope)) for scope in scopes],
        [(name, await store.read_turns(name)) for name in names],
        [(name, await store.read_projections(name)) for name in names],
        await store.turn_redactions(limit=500),
    )
