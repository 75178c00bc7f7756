"""What workers know of their gardens together (docs/reference/maintenance.md, section 9)."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from commonhold.contract.claims import Claim


class GardenRun(msgspec.Struct, frozen=True, kw_only=True):
    """The newest pass that ended, and the newest that did all it was there for."""

    finished_at: datetime
    succeeded_at: datetime | None = None


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that wait or run; for how long the oldest of those that run has been claimed."""

    depth: int = 0
    oldest_seconds: float = 0.0


class GardenLedger(Protocol):
    """When each garden was last seen to, and what is queued."""

    async def list_runs(self) -> Mapping[str, GardenRun]: ...

    async def record(
        self, garden: str, claim: Claim, *, finished_at: datetime, succeeded: bool
    ) -> None:
        """Note a pass that ended; ClaimLostError when somebody else has the garden by now."""
        ...

    async def backlog(self, gardens: Collection[str]) -> Backlog:
        """Of these gardens. One that is no longer in the file leaves its job where it was."""
        ...

    async def sweep(self) -> None:
        """Forget a batch of what the queue logged more than a week ago."""
        ...
