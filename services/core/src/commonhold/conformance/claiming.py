"""The kit of claims and fences (docs/reference/stores.md, section 17)."""

import asyncio
import math
from datetime import timedelta
from typing import Protocol

import pytest

from commonhold.conformance.clocks import ControlledClock
from commonhold.conformance.guarding import (
    DIGEST,
    KEY,
    MUTATIONS,
    OTHER_DIGEST,
    GuardedStore,
    prepare,
    state_of,
)
from commonhold.conformance.memory_concurrency import ROUNDS
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import (
    OTHER_PATH,
    OTHER_SCOPE,
    PATH,
    SCOPE,
    UNSTORABLE_TEXTS,
)
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.claims import MAX_LEASE, MAX_LEASE_SECONDS, Claim, Claims, Fenced
from commonhold.contract.errors import ClaimLostError
from commonhold.contract.stores import Mutations

LEASE = 30.0
A_LEASE = timedelta(seconds=LEASE)
BAD_LEASES = (0, -1.0, math.nan, math.inf, -math.inf, MAX_LEASE_SECONDS + 1)


class FencedStore(Fenced, GuardedStore, Protocol):
    """What the kit needs of a store."""


class ClaimsContract(StoreSubject):
    """What every Fenced store does. A subclass gives the fixture `store`."""

    async def test_the_store_is_fenced(self, store: FencedStore) -> None:
        rule = Rule("17", "a fenced store has claims, and views that stand under one")
        rule.holds(isinstance(store, Fenced), store)
        rule.holds(isinstance(store.claims, Claims), store.claims)
        claim = await self._acquire(store, SCOPE)
        rule.holds(isinstance(store.guarded(fence=claim), Mutations), store)

    async def test_a_claim_says_what_it_holds_and_until_when(
        self, store: FencedStore, clock: ControlledClock
    ) -> None:
        rule = Rule("17", "names in code point order, each once, with its number; now + lease")
        now = clock.next_reading
        names = ["user:b", "user:B", "user:a", "user:b"]
        claim = await store.claims.acquire(names, holder="worker-1", lease_seconds=1.5)
        tokens = (("user:B", 1), ("user:a", 1), ("user:b", 1))
        until = now + timedelta(seconds=1.5)
        rule.equal(claim, Claim(tokens=tokens, holder="worker-1", expires_at=until))

    async def test_a_name_has_one_holder_at_a_time(self, store: FencedStore) -> None:
        rule = Rule("17", "while a lease runs nobody gets the name, its holder's name included")
        await self._acquire(store, SCOPE)
        for holder in ("worker-1", "worker-2"):
            taken = await store.claims.acquire([SCOPE], holder=holder, lease_seconds=LEASE)
            rule.equal(taken, None)
        other = await store.claims.acquire([OTHER_SCOPE], holder="w", lease_seconds=LEASE)
        rule.holds(other, "another name was not free")

    async def test_all_names_are_claimed_or_none(self, store: FencedStore) -> None:
        rule = Rule("17", "a claim takes all of its names or none")
        await self._acquire(store, "m")
        for names in (["a", "m"], ["m", "z"], ["z", "m", "a"]):
            rule.equal(await store.claims.acquire(names, holder="w", lease_seconds=LEASE), None)
        free = await store.claims.acquire(["a", "z"], holder="w", lease_seconds=LEASE)
        rule.equal(free and free.tokens, (("a", 1), ("z", 1)))

    async def test_a_lease_that_ran_out_is_taken_over(
        self, store: FencedStore, clock: ControlledClock
    ) -> None:
        rule = Rule("17", "from expires_at on the name is free, and its number is higher")
        claim = await self._acquire(store, SCOPE)
        clock.set(claim.expires_at - timedelta(microseconds=1))
        rule.equal(await store.claims.acquire([SCOPE], holder="w2", lease_seconds=LEASE), None)
        clock.set(claim.expires_at)
        taken = await store.claims.acquire([SCOPE], holder="w2", lease_seconds=LEASE)
        rule.equal(
            taken,
            Claim(tokens=((SCOPE, 2),), holder="w2", expires_at=claim.expires_at + A_LEASE),
        )

    async def test_a_lease_longer_than_any_is_taken_over(
        self, store: FencedStore, clock: ControlledClock
    ) -> None:
        rule = Rule("17", "a lease that ends beyond the longest from now is of a wrong clock: free")
        claim = await self._acquire(store, SCOPE, OTHER_SCOPE)
        clock.set(claim.expires_at - MAX_LEASE)
        rule.equal(await store.claims.acquire([SCOPE], holder="w2", lease_seconds=LEASE), None)
        clock.set(claim.expires_at - MAX_LEASE - timedelta(microseconds=1))
        taken = await self._acquire(store, SCOPE)
        rule.equal(taken.tokens, ((SCOPE, 2),))
        with rule.refuses(ClaimLostError, name=SCOPE, token=1):
            await store.guarded(fence=claim).write(SCOPE, PATH, "x")

    async def test_a_released_name_is_free_at_once(self, store: FencedStore) -> None:
        rule = Rule("17", "release frees at once, and the next number is higher")
        claim = await self._acquire(store, SCOPE, OTHER_SCOPE)
        await store.claims.release(claim)
        again = await self._acquire(store, SCOPE, OTHER_SCOPE)
        for (name, old), (_, new) in zip(claim.tokens, again.tokens, strict=True):
            rule.holds(new > old, (name, old, new))

    async def test_a_late_release_leaves_the_next_holder_alone(
        self, store: FencedStore, clock: ControlledClock
    ) -> None:
        rule = Rule("17", "releasing what is lost is silent; what is still held goes free")
        claim = await self._acquire(store, "a", "b")
        clock.set(claim.expires_at)
        theirs = await self._acquire(store, "b")
        for _ in range(2):
            await store.claims.release(claim)
        rule.equal(await store.claims.acquire(["b"], holder="w", lease_seconds=LEASE), None)
        await store.guarded(fence=theirs).write(SCOPE, PATH, "still held")
        await self._acquire(store, "a")

    async def test_an_extended_lease_runs_from_now(
        self, store: FencedStore, clock: ControlledClock
    ) -> None:
        rule = Rule("17", "extend counts the lease from now and keeps the numbers")
        claim = await self._acquire(store, SCOPE)
        clock.advance(timedelta(seconds=20))
        now = clock.next_reading
        longer = await store.claims.extend(claim, lease_seconds=60)
        until = now + timedelta(seconds=60)
        rule.equal(longer, Claim(tokens=claim.tokens, holder=claim.holder, expires_at=until))
        clock.set(until - timedelta(microseconds=1))
        rule.equal(await store.claims.acquire([SCOPE], holder="w", lease_seconds=LEASE), None)
        # The tokens fence, whichever of the two records a worker still carries.
        await store.guarded(fence=claim).write(SCOPE, PATH, "x")

    async def test_a_lease_that_nobody_took_over_still_stands(
        self, store: FencedStore, clock: ControlledClock
    ) -> None:
        rule = Rule("17", "a lease that ran out is lost only once somebody took it over")
        claim = await self._acquire(store, SCOPE)
        clock.set(claim.expires_at + A_LEASE)
        written = await store.guarded(fence=claim).write(SCOPE, PATH, "x")
        rule.equal(written.version, 1)
        longer = await store.claims.extend(claim, lease_seconds=LEASE)
        rule.equal(longer.tokens, claim.tokens)

    async def test_a_lost_claim_is_not_extended(
        self, store: FencedStore, clock: ControlledClock
    ) -> None:
        rule = Rule("17", "extend refuses a claim that lost a name, and extends none of them")
        claim = await self._acquire(store, "a", "b")
        clock.set(claim.expires_at)
        await self._acquire(store, "b")
        with rule.refuses(ClaimLostError, name="b", token=1):
            await store.claims.extend(claim, lease_seconds=LEASE)
        await self._acquire(store, "a")

    @pytest.mark.parametrize("name", MUTATIONS)
    async def test_a_standing_claim_lets_every_mutation_pass(
        self, store: FencedStore, name: str
    ) -> None:
        rule = Rule("17", "under a claim that stands a mutation is the mutation itself")
        await prepare(store)
        claim = await self._acquire(store, SCOPE)
        before = await state_of(store)
        await MUTATIONS[name](store.guarded(fence=claim))
        changed = await state_of(store) != before
        rule.equal((name, changed), (name, "nothing" not in name and "no turns" not in name))

    @pytest.mark.parametrize("name", MUTATIONS)
    async def test_a_lost_claim_lets_no_mutation_pass(
        self, store: FencedStore, clock: ControlledClock, name: str
    ) -> None:
        rule = Rule("17", "once the claim is taken over nothing passes, and nothing is changed")
        await prepare(store)
        claim = await self._acquire(store, SCOPE)
        clock.set(claim.expires_at)
        await self._acquire(store, SCOPE)
        before = await state_of(store)
        with rule.refuses(ClaimLostError, name=SCOPE, token=1):
            await MUTATIONS[name](store.guarded(fence=claim))
        rule.equal(await state_of(store), before)

    async def test_a_released_claim_lets_nothing_pass(self, store: FencedStore) -> None:
        rule = Rule("17", "a claim that was released is lost, though nobody has taken it")
        claim = await self._acquire(store, SCOPE)
        await store.claims.release(claim)
        with rule.refuses(ClaimLostError, name=SCOPE, token=1):
            await store.guarded(fence=claim).write(SCOPE, PATH, "x")
        with rule.refuses(ClaimLostError, name=SCOPE, token=1):
            await store.claims.extend(claim, lease_seconds=LEASE)
        rule.equal(await store.history(SCOPE), ())

    async def test_a_claim_stands_whole_or_not_at_all(
        self, store: FencedStore, clock: ControlledClock
    ) -> None:
        rule = Rule("17", "a claim that lost one name lets nothing pass, on the others neither")
        claim = await self._acquire(store, SCOPE, OTHER_SCOPE)
        clock.set(claim.expires_at)
        await self._acquire(store, OTHER_SCOPE)
        with rule.refuses(ClaimLostError, name=OTHER_SCOPE, token=1):
            await store.guarded(fence=claim).write(SCOPE, PATH, "x")
        rule.equal(await store.history(SCOPE), ())

    async def test_a_number_never_given_does_not_stand(self, store: FencedStore) -> None:
        rule = Rule("17", "a claim stands when its numbers are the newest: neither less nor more")
        await self._acquire(store, SCOPE)
        until = (await self._acquire(store, "until")).expires_at
        for name, token in ((SCOPE, 0), (SCOPE, 2), ("never-claimed", 0), ("never-claimed", 1)):
            forged = Claim(tokens=((name, token),), holder="w", expires_at=until)
            with rule.refuses(ClaimLostError, name=name, token=token):
                await store.guarded(fence=forged).write(SCOPE, PATH, "x")
        rule.equal(await store.history(SCOPE), ())

    async def test_a_key_works_under_a_fence(
        self, store: FencedStore, clock: ControlledClock
    ) -> None:
        rule = Rule("17", "with a key and a fence both rule; a lost claim gets no replay")
        claim = await self._acquire(store, SCOPE)
        view = store.guarded(key=KEY, digest=DIGEST, fence=claim)
        first = await view.write(SCOPE, PATH, "x")
        rule.equal(await view.write(SCOPE, PATH, "x"), first)
        with rule.refuses(ValueError, saying="another request"):
            await store.guarded(key=KEY, digest=OTHER_DIGEST, fence=claim).write(SCOPE, PATH, "y")
        clock.set(claim.expires_at)
        theirs = await self._acquire(store, SCOPE)
        with rule.refuses(ClaimLostError, name=SCOPE):
            await view.write(SCOPE, PATH, "x")
        replay = await store.guarded(key=KEY, digest=DIGEST, fence=theirs).write(SCOPE, PATH, "x")
        rule.equal(replay, first)
        rule.equal(len(await store.history(SCOPE)), 1)

    async def test_a_lost_claim_leaves_the_key_free(self, store: FencedStore) -> None:
        rule = Rule("17", "what the fence refused is not remembered under its key")
        claim = await self._acquire(store, SCOPE)
        await store.claims.release(claim)
        with rule.refuses(ClaimLostError, name=SCOPE):
            await store.guarded(key=KEY, digest=DIGEST, fence=claim).write(SCOPE, PATH, "x")
        written = await store.guarded(key=KEY, digest=OTHER_DIGEST).write(SCOPE, OTHER_PATH, "y")
        rule.equal((written.path, written.version), (OTHER_PATH, 1))

    async def test_without_key_and_fence_a_view_is_the_store(self, store: FencedStore) -> None:
        rule = Rule("17", "a view under nothing remembers nothing and is refused nothing")
        for number in (1, 2):
            rule.equal((await store.guarded().write(SCOPE, PATH, "x")).version, number)

    async def test_of_racing_claims_one_stands(
        self, store: FencedStore, clock: ControlledClock
    ) -> None:
        rule = Rule("17", "of workers that race for a name one gets it")
        for _ in range(ROUNDS):
            taken = await asyncio.gather(
                *(
                    store.claims.acquire(names, holder="w", lease_seconds=LEASE)
                    for names in (["a", "b"], ["b", "c"], ["c", "b", "a"], ["b"])
                )
            )
            won = [claim for claim in taken if claim is not None]
            rule.equal(len(won), 1)
            clock.set(won[0].expires_at + A_LEASE)

    async def test_bad_arguments_are_refused(self, store: FencedStore) -> None:
        rule = Rule("17", "names, holder and lease are checked, and then nothing was claimed")
        claim = await self._acquire(store, "held")
        with rule.refuses(ValueError, saying="'names' must name at least one"):
            await store.claims.acquire([], holder="w", lease_seconds=LEASE)
        with rule.refuses(ValueError, saying="'names' must not contain an empty name"):
            await store.claims.acquire(["a", ""], holder="w", lease_seconds=LEASE)
        for text in UNSTORABLE_TEXTS:
            with rule.refuses(ValueError, saying="'names'"):
                await store.claims.acquire(["a", text], holder="w", lease_seconds=LEASE)
            with rule.refuses(ValueError, saying="'holder'"):
                await store.claims.acquire(["a"], holder=text, lease_seconds=LEASE)
        for lease in BAD_LEASES:
            with rule.refuses(ValueError, saying="lease_seconds must be above 0"):
                await store.claims.acquire(["a"], holder="w", lease_seconds=lease)
            with rule.refuses(ValueError, saying="lease_seconds must be above 0"):
                await store.claims.extend(claim, lease_seconds=lease)
        await self._acquire(store, "a")

    async def _acquire(self, store: FencedStore, *names: str) -> Claim:
        claim = await store.claims.acquire(names, holder="worker-1", lease_seconds=LEASE)
        Rule("17", "a free name is claimed").holds(claim, names)
        if claim is None:
            raise AssertionError(names)
        return claim
