"""Claims in a dict; a call is atomic on its event loop."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from commonhold.contract.claims import MAX_LEASE, Claim, claimed_names, lease_of
from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.errors import ClaimLostError
from commonhold.contract.text import require_storable


class _Row(msgspec.Struct, frozen=True):
    """The newest number of a name; a released one has no holder and no lease."""

    token: int
    expires_at: datetime | None


_NEVER_CLAIMED = _Row(0, None)


def _is_held(row: _Row, now: datetime) -> bool:
    return row.expires_at is not None and now < row.expires_at <= now + MAX_LEASE


class InMemoryClaims:
    """The claims of one store."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rows: dict[str, _Row] = {}

    async def acquire(
        self, names: Sequence[str], *, holder: str, lease_seconds: float
    ) -> Claim | None:
        claimed = claimed_names(names)
        require_storable(holder, name="holder")
        lease = lease_of(lease_seconds)
        now = read_clock(self._clock)
        held = [self._rows.get(name, _NEVER_CLAIMED) for name in claimed]
        if any(_is_held(row, now) for row in held):
            return None
        tokens = tuple((name, row.token + 1) for name, row in zip(claimed, held, strict=True))
        return self._put(Claim(tokens=tokens, holder=holder, expires_at=now + lease))

    async def extend(self, claim: Claim, *, lease_seconds: float) -> Claim:
        lease = lease_of(lease_seconds)
        now = read_clock(self._clock)
        self.require_standing(claim)
        return self._put(msgspec.structs.replace(claim, expires_at=now + lease))

    async def release(self, claim: Claim) -> None:
        for name, token in claim.tokens:
            if self._token(name) == token:
                self._rows[name] = _Row(token + 1, None)

    def require_standing(self, claim: Claim) -> None:
        for name, token in claim.tokens:
            if self._token(name) != token:
                raise ClaimLostError(name=name, token=token)

    def _token(self, name: str) -> int | None:
        row = self._rows.get(name)
        return None if row is None else row.token

    def _put(self, claim: Claim) -> Claim:
        for name, token in claim.tokens:
            self._rows[name] = _Row(token, claim.expires_at)
        return claim
