"""Documents of known ages behind mounts of every kind, and passes over them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from commonhold.conformance import ControlledClock, TickingClock
from commonhold.usecases.mount_tokens import parse_mounts
from commonhold.usecases.upkeep.fences import TendedStore
from commonhold.usecases.upkeep.passes import Garden, maintain
from commonhold.usecases.upkeep.reports import PassReport

NOW = datetime(2026, 2, 1, tzinfo=UTC)
OLD = datetime(2026, 1, 1, tzinfo=UTC)
CUTOFF = NOW - timedelta(days=7)
MICROSECOND = timedelta(microseconds=1)

USER, PROJECT = "user:ana", "project:erp"
BOARD, HANDBOOK = "task:42", "kb:handbook"
MOUNTS = (
    f"scope={USER},path=user",
    f"scope={PROJECT},path=project",
    f"scope={BOARD},path=board,eo",
    f"scope={HANDBOOK},path=kb,ro",
)
ACTOR = "gardener:night"


class GardenCases:
    """The base of cases over any store; a subclass gives `store` on the fixture `clock`."""

    @pytest.fixture
    def clock(self) -> ControlledClock:
        return TickingClock(OLD)


def garden(*tokens: str, **options: Any) -> Garden:
    mounts = parse_mounts(list(tokens or MOUNTS))
    return Garden(mounts=mounts, **{"actor": ACTOR, **options})


async def run_pass(
    store: TendedStore, clock: ControlledClock, *tokens: str, at: datetime = NOW, **options: Any
) -> PassReport:
    clock.set(at)
    return await maintain(store, garden(*tokens, **options), clock=clock)


def deletions(report: PassReport) -> list[str]:
    assert {write.command for write in report.writes} <= {"delete"}
    assert {write.version for write in report.writes} <= {None}
    return [write.path for write in report.writes]


def reasons(report: PassReport) -> dict[str, str]:
    return {skip.path: skip.reason for skip in report.skipped}
