"""One pass of maintenance over a set of mounts (docs/reference/maintenance.md)."""

from typing import Protocol

import msgspec
import structlog

from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.errors import ClaimLostError, CommonholdError
from commonhold.contract.ids import check_actor
from commonhold.contract.stores import MemoryReader
from commonhold.usecases.mounts import Mount, MountTable
from commonhold.usecases.upkeep.deterministic import carry_out, plan_mount
from commonhold.usecases.upkeep.fences import DocumentActs, TendedStore, VersionFence
from commonhold.usecases.upkeep.holds import NO_HOLDS, Holds
from commonhold.usecases.upkeep.protections import (
    DEFAULT_MIN_AGE_DAYS,
    HELD,
    AgeFloor,
    age_floor,
)
from commonhold.usecases.upkeep.reports import ModelUse, PassLog, PassReport
from commonhold.usecases.virtual_paths import virtual_path

logger = structlog.get_logger(__name__)


class Garden(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass works on and under which name. ValueError or ActorInvalidError when bad."""

    mounts: MountTable
    actor: str
    min_age_days: int = DEFAULT_MIN_AGE_DAYS
    dry_run: bool = False
    holds: Holds = NO_HOLDS

    def __post_init__(self) -> None:
        check_actor(self.actor)
        if self.min_age_days < 0:
            raise ValueError("min_age_days must not be negative")


class ModelStage(Protocol):
    """The stage that asks a model; `semantic.SemanticStage` is the one there is."""

    async def run(
        self,
        documents: TendedStore,
        mounts: MountTable,
        *,
        fence: VersionFence,
        floor: AgeFloor,
        holds: Holds,
        log: PassLog,
    ) -> ModelUse: ...


async def maintain(
    documents: TendedStore,
    garden: Garden,
    *,
    clock: Clock,
    semantic: ModelStage | None = None,
    acts: DocumentActs | None = None,
) -> PassReport:
    """Run one pass; a dry run reads only, asks no model, and reports what it would write.

    `acts` makes the changes instead of the store: a view of it that stands under a claim.
    A mount that fails is reported, and the others have their turn; ClaimLostError ends the
    pass, whose work is somebody else's by now.
    """
    floor = age_floor(read_clock(clock), min_age_days=garden.min_age_days)
    fence = VersionFence(documents, acts or documents, actor=garden.actor)
    log = PassLog()
    await _tidy(documents, garden, fence=fence, floor=floor, log=log)
    use = ModelUse()
    if semantic is not None and not garden.dry_run:
        use = await _improve(semantic, documents, garden, fence=fence, floor=floor, log=log)
    return PassReport(
        writes=tuple(log.writes),
        model=use.model,
        usage=use.usage,
        cost_micro_usd=use.cost_micro_usd,
        degraded=use.degraded,
        skipped=tuple(log.skipped),
        failed=tuple(log.failed),
        dry_run=garden.dry_run,
        fence=fence.kind,
        put_off_seconds=use.put_off_seconds,
    )


async def _improve(
    semantic: ModelStage,
    documents: TendedStore,
    garden: Garden,
    *,
    fence: VersionFence,
    floor: AgeFloor,
    log: PassLog,
) -> ModelUse:
    """The semantic stage; where the store fails it, the writes so far stand."""
    try:
        return await semantic.run(
            documents,
            garden.mounts,
            fence=fence,
            floor=floor,
            holds=garden.holds,
            log=log,
        )
    except ClaimLostError:
        raise
    except CommonholdError as error:
        logger.warning("upkeep_semantic_stage_failed", code=error.code)
        return ModelUse(degraded=f"Maintenance failed: {type(error).__name__}")


async def _tidy(
    documents: MemoryReader,
    garden: Garden,
    *,
    fence: VersionFence,
    floor: AgeFloor,
    log: PassLog,
) -> None:
    """The deterministic stage, mount by mount."""
    planned: set[tuple[str, str]] = set()
    for mount in garden.mounts.mounts:
        if not mount.is_open:
            continue
        if garden.holds.holds_scope(mount.scope):
            root = virtual_path(mount, "")
            log.skip("scan", root, HELD, document=root)
            continue
        try:
            plan = await plan_mount(documents, mount, floor, gone=planned)
            if not garden.dry_run:
                await carry_out(fence, plan, log)
                continue
        except ClaimLostError:
            raise
        except CommonholdError as error:
            _report_failure(mount, error, log)
            continue
        for deletion in plan:
            log.wrote("delete", deletion.path)
        planned.update((mount.scope, deletion.document_path) for deletion in plan)


def _report_failure(mount: Mount, error: CommonholdError, log: PassLog) -> None:
    path = virtual_path(mount, "")
    logger.warning("upkeep_mount_failed", mount=path, code=error.code, error=str(error))
    log.fail(path, error.code)
