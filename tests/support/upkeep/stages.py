"""What the cases of the semantic stage share (docs/reference/maintenance.md, section 4)."""

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from commonhold.conformance import ControlledClock
from commonhold.contract import MemoryStore
from commonhold.usecases.upkeep.fences import TendedStore
from commonhold.usecases.upkeep.passes import maintain
from commonhold.usecases.upkeep.reports import PassReport
from commonhold.usecases.upkeep.semantic import SemanticStage
from tests.support.upkeep.gardens import (
    NOW,
    OLD,
    GardenCases,
    garden,
)
from tests.support.upkeep.models import (
    ActingModel,
    Proposed,
    idle,
)

TOKEN = "f861c6a28479e247"
FRESH_AT = NOW - timedelta(days=1)
CHANGED = "changed underneath"
FLOOR = "the document is inside the age floor"
STATE = "state document has its own lifecycle"
REDACTED = "the document is redacted"
SECRET = "the colour of the door is teal"


Act = Callable[[], Awaitable[object]]


class Setting:
    """Documents of one store, and passes over them with a model."""

    def __init__(self, store: MemoryStore, clock: ControlledClock) -> None:
        self.store = store
        self.clock = clock

    async def old(self, scope: str, path: str, content: str) -> None:
        if self.clock.next_reading >= NOW:
            self.clock.set(OLD)
        await self.store.write(scope, path, content, actor="client:ana")

    async def fresh(self, scope: str, path: str, content: str) -> None:
        self.clock.set(FRESH_AT)
        await self.store.write(scope, path, content, actor="client:ana")
        self.clock.set(OLD + timedelta(hours=1))

    async def run(
        self,
        operations: Proposed | ActingModel,
        *tokens: str,
        meanwhile: Act | None = None,
        store: TendedStore | None = None,
        **options: Any,
    ) -> PassReport:
        model = operations
        if not isinstance(model, ActingModel):
            model = ActingModel(json.dumps({"ops": list(model)}), meanwhile=meanwhile or idle)
        self.clock.set(NOW)
        return await maintain(
            store or self.store,
            garden(*tokens, **options),
            clock=self.clock,
            semantic=SemanticStage(model, tokens=lambda: TOKEN),
        )

    async def content(self, scope: str, path: str) -> str | None:
        document = await self.store.read(scope, path)
        return None if document is None else document.content


def written(report: PassReport) -> list[str]:
    return [str(write) for write in report.writes]


def skipped(report: PassReport) -> list[tuple[str, str, str]]:
    return [(skip.command, skip.path, skip.reason) for skip in report.skipped]


class StageCases(GardenCases):
    @pytest.fixture
    def here(self, store: MemoryStore, clock: ControlledClock) -> Setting:
        return Setting(store, clock)
