"""Whether text that a model was shown has been erased since (maintenance.md, section 4.4)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol, runtime_checkable

from commonhold.contract.documents import MemoryRedaction
from commonhold.usecases.upkeep.evidence import Key, Shown

# Newest acts compared; more of them at once count as one that reaches everything.
_ACTS = 50


@runtime_checkable
class ErasureTrail(Protocol):
    async def redactions(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryRedaction, ...]: ...


class ErasureWatch:
    """The trails of the scopes a model is shown, as they were before it was shown them.

    What the model writes down may repeat what it read, so after an erasure nothing that
    it wrote is trusted. Acts are compared, not stamps: clocks differ.
    """

    def __init__(self, trail: object, scopes: tuple[str, ...]) -> None:
        self._trail = trail if isinstance(trail, ErasureTrail) else None
        self._scopes = scopes
        self._before: dict[str, tuple[MemoryRedaction, ...]] = {}

    async def start(self) -> None:
        for scope in self._scopes:
            self._before[scope] = await self._newest(scope)

    async def has_erased(self, shown: Mapping[Key, Shown]) -> bool:
        """Whether one of the documents shown with its text was erased since the start."""
        for scope in self._scopes:
            now = await self._newest(scope)
            if now == self._before[scope]:
                continue
            fresh = [act for act in now if act not in self._before[scope]] or now
            if len(fresh) == _ACTS or any(_reaches(act, scope, shown) for act in fresh):
                return True
        return False

    async def _newest(self, scope: str) -> tuple[MemoryRedaction, ...]:
        return () if self._trail is None else await self._trail.redactions(scope, limit=_ACTS)


def _reaches(act: MemoryRedaction, scope: str, shown: Mapping[Key, Shown]) -> bool:
    if act.path is None:
        return True
    known = shown.get((scope, act.path))
    return known is not None and known.has_body
