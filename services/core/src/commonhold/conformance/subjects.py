"""What a test class tells a kit about its store.

A subclass gives the fixture `store`: an empty store on the fixture `clock`. It overrides
the planting hooks, which reach behaviours that no public method can set up. Nothing is
optional: a hook that is missing fails the tests that need it.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

import pytest

from commonhold.conformance.clocks import ControlledClock, TickingClock
from commonhold.conformance.rules import CitesRules


class StoreSubject(CitesRules):
    """The base of every kit of a store."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def clock(self) -> ControlledClock:
        """The clock that `store` must be built on. Override it to run a kit on another."""
        return TickingClock()

    @pytest.fixture
    def store(self, clock: ControlledClock) -> Any:
        self._missing("the fixture `store`: an empty store built on the fixture `clock`")

    def recorded_actor(self, actor: str | None) -> str | None:
        """What the store records when a caller says `actor`.

        A service records its client instead: `client:default`, or
        `client:default/<actor>` (docs/reference/wire.md, section 3).
        """
        return actor

    async def plant_newer_document(self, store: Any, scope: str, path: str) -> None:
        """Mark the live document and all its versions as format 2."""
        self._missing("the hook `plant_newer_document`")

    async def plant_newer_version(self, store: Any, scope: str, path: str, version: int) -> None:
        """Mark one version row as format 2, and nothing else."""
        self._missing("the hook `plant_newer_version`")

    async def plant_extra(
        self, store: Any, scope: str, path: str, extra: Mapping[str, Any]
    ) -> None:
        """Give the live document keys that this release does not know."""
        self._missing("the hook `plant_extra`")

    async def plant_newer_turn(self, store: Any, conversation_id: str, turn: int) -> None:
        """Mark one turn as format 2."""
        self._missing("the hook `plant_newer_turn`")

    async def plant_malformed_turn(self, store: Any, conversation_id: str, turn: int) -> None:
        """Leave one turn that is not redacted without a message array."""
        self._missing("the hook `plant_malformed_turn`")

    async def plant_newer_projection(self, store: Any, conversation_id: str, turn: int) -> None:
        """Mark the projection entries of one turn as format 2."""
        self._missing("the hook `plant_newer_projection`")

    async def plant_malformed_projection(self, store: Any, conversation_id: str, turn: int) -> None:
        """Give the projection entries of one turn a kind that does not exist."""
        self._missing("the hook `plant_malformed_projection`")

    def _missing(self, what: str) -> NoReturn:
        pytest.fail(
            f"{type(self).__name__} must provide {what} (docs/reference/kits.md)", pytrace=False
        )
