"""Claims: who works on something alone, and the fence that stops who no longer does.

docs/reference/stores.md, section 17.
"""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

import msgspec

from commonhold.contract.idempotency import IdempotencyKey
from commonhold.contract.stores import Mutations
from commonhold.contract.text import require_storable

MAX_LEASE_SECONDS = 86400.0
MAX_LEASE = timedelta(seconds=MAX_LEASE_SECONDS)


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What was claimed, and until when nobody else can have it.

    `tokens` has each name with its number, in code point order. A name's number rises with
    every acquisition and every release, so that an old claim is never taken for a new one.
    """

    tokens: tuple[tuple[str, int], ...]
    holder: str
    expires_at: datetime


@runtime_checkable
class Claims(Protocol):
    """Exclusive work, kept by a lease. A lease is long enough when it outlives one renewal.

    A holder that lost its claim need not notice: what it does under the fence
    (`Fenced.guarded`) is refused from then on.
    """

    async def acquire(
        self, names: Sequence[str], *, holder: str, lease_seconds: float
    ) -> Claim | None:
        """Claim all of the names or none; None while a lease on one of them runs.

        A lease that has run out is taken over, once the mutations that stand under it have
        ended; so is one that ends later than the longest lease from now, whose holder had
        a clock that was wrong. The holder is told to people and decides nothing: nobody
        gets a claim back by its name.
        """
        ...

    async def extend(self, claim: Claim, *, lease_seconds: float) -> Claim:
        """The claim with its lease counted from now, even when it had run out meanwhile.

        Raises ClaimLostError, and extends nothing, when one of its names was taken over.
        """
        ...

    async def release(self, claim: Claim) -> None:
        """Free what is still held of the claim, at once; a lost one is released in silence."""
        ...


@runtime_checkable
class Fenced(Protocol):
    """A store whose mutations can stand under a claim (docs/reference/stores.md, section 17)."""

    @property
    def claims(self) -> Claims: ...

    def guarded(
        self,
        *,
        key: IdempotencyKey | None = None,
        digest: bytes = b"",
        fence: Claim | None = None,
    ) -> Mutations:
        """A view whose mutations run while the whole of `fence` stands, under `key` if given.

        The claim is looked at in the mutation's transaction and held until its end. Once
        one of its names has been taken over or released, every mutation of the view raises
        ClaimLostError and changes nothing, a remembered one too.
        """
        ...


def claimed_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names in the order in which they are locked, each once; ValueError for a bad one."""
    if not names:
        raise ValueError("parameter 'names' must name at least one thing to claim")
    for name in names:
        if not name:
            raise ValueError("parameter 'names' must not contain an empty name")
        require_storable(name, name="names")
    return tuple(sorted(set(names)))


def lease_of(seconds: float) -> timedelta:
    """The lease; ValueError when it is no time at all or longer than a day."""
    if not (math.isfinite(seconds) and 0 < seconds <= MAX_LEASE_SECONDS):
        raise ValueError(
            f"lease_seconds must be above 0 and at most {MAX_LEASE_SECONDS:g}, got {seconds}"
        )
    return timedelta(seconds=seconds)
