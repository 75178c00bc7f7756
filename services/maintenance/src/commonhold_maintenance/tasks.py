"""The work of one turn: a garden's pass, or what retention erases."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from commonhold.contract.clock import Clock
from commonhold.contract.errors import StoreUnavailableError
from commonhold.contract.expirations import VersionEraser
from commonhold.usecases.upkeep.expirations import expire_documents
from commonhold.usecases.upkeep.holds import Holds
from commonhold.usecases.upkeep.passes import ModelStage, maintain
from commonhold.usecases.upkeep.prunes import PruneReport, prune
from commonhold.usecases.upkeep.reports import SKIP_LABELS, PassReport
from commonhold.usecases.upkeep.result_json import pass_object, prune_object
from commonhold.usecases.upkeep.shortfalls import is_cut_short
from commonhold_maintenance.fenced_stores import Acts, WorkedStore
from commonhold_maintenance.gardens import RETENTION, ErasureRule, Retention, ScheduledGarden
from commonhold_maintenance.schedules import Schedule

REDACT = "redact"
ACTIONS = ("create", "str_replace", "delete", "rename", REDACT)
# Lists of a report that are longer are cut in the log; their lengths are always there.
MOST_LISTED = 1000


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ended. `report` is for the log and names documents, never what is in them."""

    report: Mapping[str, Any]
    actions: Mapping[str, int]
    skips: Mapping[str, int]
    is_whole: bool
    is_cut_short: bool = False
    """Whether the turn should come again soon: the database went away, or the model was not
    to be asked."""
    put_off_seconds: float | None = None
    """How long the model is not to be asked; 0 when that is not known."""
    cost_micro_usd: int = 0


class Task(Protocol):
    """What can be due: its name, when, and what nobody else may work on meanwhile."""

    @property
    def name(self) -> str: ...

    @property
    def schedule(self) -> Schedule: ...

    @property
    def claims(self) -> tuple[str, ...]: ...

    async def run(self, acts: Acts) -> Outcome: ...


class GardenTask:
    """One pass over a garden's mounts, under a claim of their scopes."""

    def __init__(
        self,
        scheduled: ScheduledGarden,
        *,
        store: WorkedStore,
        semantic: ModelStage | None,
        clock: Clock,
    ) -> None:
        self.name = scheduled.name
        self.schedule = scheduled.schedule
        self.claims = tuple(sorted({mount.scope for mount in scheduled.garden.mounts.mounts}))
        self._garden = scheduled.garden
        self._store = store
        self._semantic = semantic if scheduled.asks_model else None
        self._clock = clock

    async def run(self, acts: Acts) -> Outcome:
        report = await maintain(
            self._store, self._garden, clock=self._clock, semantic=self._semantic, acts=acts
        )
        return _outcome_of_pass(report)


class RetentionTask:
    """The erasures that the rules ask for, each rule in its turn."""

    def __init__(
        self, retention: Retention, *, holds: Holds, store: WorkedStore, clock: Clock
    ) -> None:
        self.name = RETENTION
        self.schedule = retention.schedule
        # No scope is called so: a scope has a colon.
        self.claims = (RETENTION,)
        self._retention = retention
        self._holds = holds
        self._store = store
        self._clock = clock

    async def run(self, acts: Acts) -> Outcome:
        reports = [await self._follow(rule, acts) for rule in self._retention.rules]
        return _outcome_of_prunes(reports, dry_run=self._retention.dry_run)

    async def _follow(self, rule: ErasureRule, acts: Acts) -> PruneReport:
        actor = f"gardener:{RETENTION}"
        if rule.about == "scope":
            return await expire_documents(
                self._store,
                older_than=rule.older_than,
                scopes=(rule.prefix,),
                clock=self._clock,
                holds=self._holds,
                actor=actor,
                dry_run=self._retention.dry_run,
                acts=acts if isinstance(acts, VersionEraser) else None,
            )
        return await prune(
            self._store,
            older_than=rule.older_than,
            clock=self._clock,
            prefixes=(rule.prefix,),
            holds=self._holds,
            actor=actor,
            dry_run=self._retention.dry_run,
            acts=acts,
        )


def _outcome_of_pass(report: PassReport) -> Outcome:
    skips = [
        {"command": skip.command, "path": skip.document, "reason": skip.label}
        for skip in report.skipped
    ]
    fields = _shortened({**pass_object(report), "skipped": skips})
    return Outcome(
        report=fields,
        actions={} if report.dry_run else Counter(write.command for write in report.writes),
        skips=Counter(skip.label for skip in report.skipped),
        is_whole=report.is_whole,
        is_cut_short=report.put_off_seconds is not None
        or any(one.reason == StoreUnavailableError.code for one in report.failed),
        put_off_seconds=report.put_off_seconds,
        cost_micro_usd=report.cost_micro_usd or 0,
    )


def _outcome_of_prunes(reports: list[PruneReport], *, dry_run: bool) -> Outcome:
    spared = [one.reason for report in reports for one in report.spared]
    kept = [one.reason for report in reports for one in report.kept]
    unfinished = [one for report in reports for one in report.unfinished]
    erased = sum(len(report.conversations) + len(report.documents) for report in reports)
    return Outcome(
        report={"rules": [_shortened(prune_object(report)) for report in reports]},
        actions={} if dry_run else {REDACT: erased},
        skips=Counter(SKIP_LABELS[reason] for reason in (*spared, *kept)),
        is_whole=not unfinished,
        is_cut_short=is_cut_short(unfinished),
    )


def _shortened(report: Mapping[str, Any]) -> dict[str, Any]:
    fields = dict(report)
    for name, value in report.items():
        if isinstance(value, list | tuple) and len(value) > MOST_LISTED:
            fields[name] = value[:MOST_LISTED]
            fields[f"{name}_total"] = len(value)
    return fields
