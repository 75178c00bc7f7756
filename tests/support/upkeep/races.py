"""A garden whose model thinks while others write, and what must hold whoever was first."""

import asyncio
import contextlib
import json
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from commonhold.contract import CommonholdError, MemoryStore, MemoryVersion, SystemClock
from commonhold.usecases.mount_tokens import parse_mounts
from commonhold.usecases.upkeep.passes import Garden, maintain
from commonhold.usecases.upkeep.reports import SKIP_LABELS, PassReport
from commonhold.usecases.upkeep.semantic import SemanticStage
from tests.support.upkeep.models import ActingModel, create, delete, rename, replace

GARDENER, WRITER = "gardener:night", "client:writer"
WRITERS = 16
# More than a pass leaves time for; one that never ends must not fill the ledger.
MOST_ACTS = 6400
PATHS = tuple(f"d{number}" for number in range(6))
PROPOSED: Sequence[dict[str, Any]] = (
    replace("/a/d0", "text", "better text"),
    create("/a/d1", "merged"),
    delete("/a/d2"),
    rename("/a/d3", "/a/r3"),
    rename("/a/d4", "/b/d4"),
    create("/a/n1", "new"),
    delete("/a/d5"),
    create("/b/n2", "new"),
)
TARGETS = (*PATHS, "r3", "n1", "n2")


class Race:
    """One pass over two scopes of its own, and sixteen writers that stop when it ends."""

    def __init__(
        self,
        store: MemoryStore,
        number: int,
        *,
        pause: Callable[[], Awaitable[object]],
        pace_seconds: float = 0.0,
    ) -> None:
        self._store = store
        self._number = number
        self._scopes = (f"race:a{number}", f"race:b{number}")
        self._pause = pause
        self._pace_seconds = pace_seconds
        self._is_over = False
        self._acts = 0

    async def run(self) -> PassReport:
        """The report, once what the ledger says has been found legal."""
        for path in PATHS:
            await self._store.write(self._scopes[0], path, f"text of {path}", actor=GARDENER)
        async with asyncio.TaskGroup() as writers:

            async def begin_to_write() -> None:
                for seed in range(WRITERS):
                    writers.create_task(self._write(random.Random(seed + WRITERS * self._number)))
                await self._pause()

            model = ActingModel(json.dumps({"ops": PROPOSED}), meanwhile=begin_to_write)
            tokens = [f"scope={scope},path={scope[5]}" for scope in self._scopes]
            garden = Garden(mounts=parse_mounts(tokens), actor=GARDENER, min_age_days=0)
            report = await maintain(
                self._store, garden, clock=SystemClock(), semantic=SemanticStage(model)
            )
            self._is_over = True
        assert self._acts >= WRITERS
        self._judge_report(report)
        for scope in self._scopes:
            self._judge_ledger(await self._store.history(scope))
        return report

    async def _write(self, dice: random.Random) -> None:
        """Edit, delete and rename until the pass is over, and at least once."""
        while True:
            scope, path = dice.choice(self._scopes), dice.choice(TARGETS)
            # Somebody may be first; another writer is as good as the pass.
            with contextlib.suppress(CommonholdError):
                await self._act(dice, scope, path)
            self._acts += 1
            if self._is_over or self._acts > MOST_ACTS:
                return
            await asyncio.sleep(self._pace_seconds)

    async def _act(self, dice: random.Random, scope: str, path: str) -> None:
        match dice.randrange(6):
            case 0:
                await self._store.delete(scope, path, actor=WRITER)
            case 1:
                await self._store.rename(scope, path, dice.choice(TARGETS), actor=WRITER)
            case _:
                await self._store.write(scope, path, f"text, newer {self._acts}", actor=WRITER)

    def _judge_report(self, report: PassReport) -> None:
        """Every operation was done or has a reason that says why not."""
        assert report.degraded is None
        assert report.failed == ()
        assert len(report.writes) + len(report.skipped) == len(PROPOSED)
        for skip in report.skipped:
            told = ("No document at ", "old_str ", "[memory_")
            assert skip.reason in SKIP_LABELS or skip.reason.startswith(told), skip

    def _judge_ledger(self, history: Sequence[MemoryVersion]) -> None:
        """The pass never acted on a version that somebody else had written."""
        by_path: dict[str, dict[int, MemoryVersion]] = {}
        for row in history:
            by_path.setdefault(row.path, {})[row.version] = row
        for rows in by_path.values():
            for number, row in rows.items():
                before = rows.get(number - 1)
                if row.actor != GARDENER or before is None:
                    continue
                if row.action == "created":
                    assert before.action == "deleted", (before, row)
                else:
                    assert before.actor == GARDENER, (before, row)
