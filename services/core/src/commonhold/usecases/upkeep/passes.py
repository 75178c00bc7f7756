"""One pass of maintenance over a set of mounts (docs/reference/maintenance.md)."""

import msgspec
import structlog

from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.errors import CommonholdError
from commonhold.contract.ids import check_actor
from commonhold.contract.stores import MemoryEditor
from commonhold.usecases.mounts import Mount, MountTable
from commonhold.usecases.upkeep.deterministic import carry_out, plan_mount
from commonhold.usecases.upkeep.fences import VersionFence
from commonhold.usecases.upkeep.holds import NO_HOLDS, Holds
from commonhold.usecases.upkeep.protections import (
    DEFAULT_MIN_AGE_DAYS,
    HELD,
    AgeFloor,
    age_floor,
)
from commonhold.usecases.upkeep.reports import PassLog, PassReport
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


async def maintain(documents: MemoryEditor, garden: Garden, *, clock: Clock) -> PassReport:
    """Run one pass; a dry run reads only, and reports what it would write.

    A mount that fails is reported, and the others have their turn.
    """
    floor = age_floor(read_clock(clock), min_age_days=garden.min_age_days)
    fence = VersionFence(documents, actor=garden.actor)
    log = PassLog()
    await _tidy(documents, garden, fence=fence, floor=floor, log=log)
    return PassReport(
        writes=tuple(log.writes),
        skipped=tuple(log.skipped),
        failed=tuple(log.failed),
        dry_run=garden.dry_run,
        fence=fence.kind,
    )


async def _tidy(
    documents: MemoryEditor,
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
            log.skip("scan", virtual_path(mount, ""), HELD)
            continue
        try:
            plan = await plan_mount(documents, mount, floor, gone=planned)
            if not garden.dry_run:
                await carry_out(fence, plan, log)
                continue
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
