"""Bugs of claims, and of the fence they put before mutations."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.adapters.in_memory.answers import Once
from commonhold.adapters.in_memory.claims import InMemoryClaims
from commonhold.adapters.in_memory.guarded import Guard, GuardedView
from commonhold.contract import Claim, ClaimLostError, Clock, IdempotencyKey
from tests.support.mutants.registry import CLAIMS, breaks

_replace = msgspec.structs.replace
T = TypeVar("T")
_AN_HOUR = timedelta(hours=1)


class _Claims(InMemoryStore):
    """A store whose claims a mutant bends."""

    bent: Callable[[Clock], InMemoryClaims]

    def __init__(self, *, clock: Clock) -> None:
        super().__init__(clock=clock)
        self.claims = type(self).bent(clock)


class _NamesAsGiven(InMemoryClaims):
    async def acquire(self, names: Sequence[str], **options: Any) -> Claim | None:
        claim = await super().acquire(names, **options)
        if claim is None:
            return None
        tokens = dict(claim.tokens)
        return _replace(claim, tokens=tuple((name, tokens[name]) for name in names))


@breaks(CLAIMS, "a_claim_says_what_it_holds_and_until_when")
class KeepsClaimedNamesAsGiven(_Claims):
    bent = _NamesAsGiven


class _OpenToItsHolder(InMemoryClaims):
    async def acquire(self, names: Sequence[str], **options: Any) -> Claim | None:
        if options["holder"] == "worker-1":
            for name in names:
                self._rows.pop(name, None)
        return await super().acquire(names, **options)


@breaks(CLAIMS, "a_name_has_one_holder_at_a_time", "a_released_name_is_free_at_once")
class LetsAHolderBackIn(_Claims):
    bent = _OpenToItsHolder


class _OneByOne(InMemoryClaims):
    async def acquire(self, names: Sequence[str], **options: Any) -> Claim | None:
        claims = [await InMemoryClaims.acquire(self, [name], **options) for name in sorted(names)]
        taken = [claim for claim in claims if claim is not None]
        if len(taken) < len(names):
            return None
        return _replace(taken[0], tokens=tuple(token for claim in taken for token in claim.tokens))


@breaks(CLAIMS, "all_names_are_claimed_or_none")
class ClaimsNamesOneByOne(_Claims):
    bent = _OneByOne


class _Late(InMemoryClaims):
    async def acquire(self, names: Sequence[str], **options: Any) -> Claim | None:
        claim = await super().acquire(names, **options)
        for name in names if claim is not None else ():
            row = self._rows[name]
            if row.expires_at is not None:
                self._rows[name] = _replace(row, expires_at=row.expires_at + _AN_HOUR)
        return claim


@breaks(CLAIMS, "a_lease_that_ran_out_is_taken_over")
class NeverLetsALeaseRunOut(_Claims):
    bent = _Late


class _Unbounded(InMemoryClaims):
    async def acquire(self, names: Sequence[str], **options: Any) -> Claim | None:
        now = self._clock.now()
        held = [self._rows[name].expires_at for name in names if name in self._rows]
        if any(until is not None and until > now for until in held):
            return None
        return await super().acquire(names, **options)


@breaks(CLAIMS, "a_lease_longer_than_any_is_taken_over")
class WaitsForALeaseHoweverLong(_Claims):
    bent = _Unbounded


class _Unreleased(InMemoryClaims):
    async def release(self, claim: Claim) -> None:
        pass


@breaks(CLAIMS, "a_released_name_is_free_at_once")
class ReleasesNothing(_Claims):
    bent = _Unreleased


class _ReleasedByName(InMemoryClaims):
    async def release(self, claim: Claim) -> None:
        current = tuple((name, self._rows[name].token) for name, _ in claim.tokens)
        await super().release(_replace(claim, tokens=current))


@breaks(CLAIMS, "a_late_release_leaves_the_next_holder_alone")
class ReleasesTheNextHolderToo(_Claims):
    bent = _ReleasedByName


class _ExtendedFromItsEnd(InMemoryClaims):
    async def extend(self, claim: Claim, *, lease_seconds: float) -> Claim:
        longer = await super().extend(claim, lease_seconds=lease_seconds)
        return self._put(_replace(longer, expires_at=longer.expires_at + _AN_HOUR))


@breaks(CLAIMS, "an_extended_lease_runs_from_now")
class ExtendsFromTheEnd(_Claims):
    bent = _ExtendedFromItsEnd


class _TimedFence(InMemoryClaims):
    def require_standing(self, claim: Claim) -> None:
        super().require_standing(claim)
        for name, token in claim.tokens:
            expires_at = self._rows[name].expires_at
            if expires_at is not None and expires_at <= self._clock.now():
                raise ClaimLostError(name=name, token=token)


@breaks(CLAIMS, "a_lease_that_nobody_took_over_still_stands")
class FencesByTime(_Claims):
    bent = _TimedFence


class _ExtendedInPart(InMemoryClaims):
    async def extend(self, claim: Claim, *, lease_seconds: float) -> Claim:
        for token in claim.tokens:
            await super().extend(_replace(claim, tokens=(token,)), lease_seconds=lease_seconds)
        return claim


@breaks(CLAIMS, "a_lost_claim_is_not_extended")
class ExtendsWhatIsLeft(_Claims):
    bent = _ExtendedInPart


class _Distrusting(InMemoryClaims):
    def require_standing(self, claim: Claim) -> None:
        name, token = claim.tokens[0]
        raise ClaimLostError(name=name, token=token)


@breaks(CLAIMS, "a_standing_claim_lets_every_mutation_pass")
class LetsNothingPass(_Claims):
    bent = _Distrusting


class _Trusting(InMemoryClaims):
    def require_standing(self, claim: Claim) -> None:
        pass


@breaks(CLAIMS, "a_lost_claim_lets_no_mutation_pass")
class LetsEverythingPass(_Claims):
    bent = _Trusting


class _ReleasedWithItsNumber(InMemoryClaims):
    async def release(self, claim: Claim) -> None:
        for name, token in claim.tokens:
            if self._token(name) == token:
                self._rows[name] = _replace(self._rows[name], expires_at=None)


@breaks(CLAIMS, "a_released_claim_lets_nothing_pass")
class KeepsTheNumberOfAReleasedClaim(_Claims):
    bent = _ReleasedWithItsNumber


class _FirstNameOnly(InMemoryClaims):
    def require_standing(self, claim: Claim) -> None:
        super().require_standing(_replace(claim, tokens=claim.tokens[:1]))


@breaks(CLAIMS, "a_claim_stands_whole_or_not_at_all")
class LooksAtTheFirstName(_Claims):
    bent = _FirstNameOnly


class _NoOlderNumber(InMemoryClaims):
    def require_standing(self, claim: Claim) -> None:
        for name, token in claim.tokens:
            if token < (self._token(name) or 0):
                raise ClaimLostError(name=name, token=token)


@breaks(CLAIMS, "a_number_never_given_does_not_stand")
class TrustsHigherNumbers(_Claims):
    bent = _NoOlderNumber


class _Asking(InMemoryClaims):
    async def acquire(self, names: Sequence[str], **options: Any) -> Claim | None:
        held = dict(self._rows)
        if await super().acquire(names, **options) is None:
            return None
        self._rows = held
        await asyncio.sleep(0)
        for name in names:
            self._rows.pop(name, None)
        return await super().acquire(names, **options)


@breaks(CLAIMS, "of_racing_claims_one_stands")
class LooksBeforeItClaims(_Claims):
    bent = _Asking


class _Lenient(InMemoryClaims):
    async def acquire(self, names: Sequence[str], **options: Any) -> Claim | None:
        lease = options["lease_seconds"]
        kept = lease if 0 < lease < 1e5 else 1.0
        return await super().acquire(names, **options | {"lease_seconds": kept})


@breaks(CLAIMS, "bad_arguments_are_refused")
class ClaimsForNoTimeAtAll(_Claims):
    bent = _Lenient


class _KeyFirst(Guard):
    def run(self, once: Once[T]) -> T:
        if self._key is None:
            return super().run(once)
        fenced = _replace(once, act=lambda: self._fenced(once.act))
        return self._answers.once(fenced, key=self._key, digest=self._digest)

    def _fenced(self, act: Callable[[], T]) -> T:
        if self._fence is not None:
            self._claims.require_standing(self._fence)
        return act()


class _ActFirst(Guard):
    def run(self, once: Once[T]) -> T:
        fence, self._fence = self._fence, None
        result = super().run(once)
        if fence is not None:
            self._claims.require_standing(fence)
        return result


class _DefaultKey(Guard):
    def run(self, once: Once[T]) -> T:
        self._key = self._key or IdempotencyKey("", "none")
        return super().run(once)


class _Guards(InMemoryStore):
    """A store whose guard a mutant bends."""

    guard: type[Guard]

    def guarded(
        self,
        *,
        key: IdempotencyKey | None = None,
        digest: bytes = b"",
        fence: Claim | None = None,
    ) -> GuardedView:
        guard = type(self).guard(self._answers, self.claims, key=key, digest=digest, fence=fence)
        return GuardedView(self._documents, self._conversations, guard=guard)


@breaks(CLAIMS, "a_key_works_under_a_fence")
class ReplaysBeforeItLooksAtTheFence(_Guards):
    guard = _KeyFirst


@breaks(CLAIMS, "a_lost_claim_leaves_the_key_free", "a_lost_claim_lets_no_mutation_pass")
class LooksAtTheFenceAfterwards(_Guards):
    guard = _ActFirst


@breaks(CLAIMS, "without_key_and_fence_a_view_is_the_store")
class HasAKeyOfItsOwn(_Guards):
    guard = _DefaultKey
