"""The stage that needs no model: empty documents and byte-identical copies go.

docs/reference/maintenance.md, section 3. A mount is planned whole from digests and then
acted on; between the two anyone may write, and what they wrote stays.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

import msgspec
import structlog

from commonhold.contract.documents import MemoryDigest
from commonhold.contract.errors import MemoryConflictError, MemoryStoreError
from commonhold.contract.stores import MemoryReader, Witness
from commonhold.usecases.mounts import Mount
from commonhold.usecases.upkeep.fences import RedactedMeanwhileError, VersionFence, reason_of
from commonhold.usecases.upkeep.protections import AgeFloor, is_named_by_address
from commonhold.usecases.upkeep.reports import PassLog
from commonhold.usecases.upkeep.scans import scan
from commonhold.usecases.virtual_paths import virtual_path

logger = structlog.get_logger(__name__)

NOTHING_GONE: AbstractSet[tuple[str, str]] = frozenset()


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """One document to go at one version; `keeper` is the copy that stays for it."""

    mount: Mount
    document_path: str
    version: int
    keeper: Witness | None = None

    @property
    def path(self) -> str:
        return virtual_path(self.mount, self.document_path)


async def plan_mount(
    documents: MemoryReader,
    mount: Mount,
    floor: AgeFloor,
    *,
    gone: AbstractSet[tuple[str, str]] = NOTHING_GONE,
) -> tuple[Deletion, ...]:
    """What to delete in a mount: the empties in path order, then the copies, group by group.

    `gone` are documents, as (scope, path), that a plan which was not carried out has deleted.
    """
    empties: list[Deletion] = []
    groups: dict[bytes, list[MemoryDigest]] = {}
    async for found in scan(documents, mount.scope):
        if (mount.scope, found.path) in gone:
            continue
        if found.is_blank:
            if not floor.is_fresh(found.updated_at):
                empties.append(_deletion(mount, found))
        elif not is_named_by_address(found.path):
            groups.setdefault(found.digest, []).append(found)
    copies = [copy for group in groups.values() for copy in _copies(mount, group, floor)]
    return (*empties, *copies)


def _copies(mount: Mount, group: list[MemoryDigest], floor: AgeFloor) -> Iterator[Deletion]:
    """Every member that is not fresh, but for the oldest: that one stays, whatever it is."""
    if len(group) == 1:
        return
    keeper = min(group, key=lambda found: (found.created_at, found.path))
    for found in group:
        if found is not keeper and not floor.is_fresh(found.updated_at):
            yield _deletion(mount, found, keeper=(keeper.path, keeper.version))


def _deletion(mount: Mount, found: MemoryDigest, *, keeper: Witness | None = None) -> Deletion:
    return Deletion(mount=mount, document_path=found.path, version=found.version, keeper=keeper)


async def carry_out(fence: VersionFence, plan: tuple[Deletion, ...], log: PassLog) -> None:
    """Delete what still is as it was planned; the rest is skipped with its reason."""
    for deletion in plan:
        reason = await _delete(fence, deletion)
        if reason is None:
            log.wrote("delete", deletion.path)
        else:
            log.skip("delete", deletion.path, reason, document=deletion.path)


async def _delete(fence: VersionFence, deletion: Deletion) -> str | None:
    """Why it was not deleted; None when it was."""
    try:
        await fence.delete(
            deletion.mount.scope,
            deletion.document_path,
            version=deletion.version,
            witnesses=() if deletion.keeper is None else (deletion.keeper,),
        )
    except (MemoryConflictError, RedactedMeanwhileError) as error:
        return reason_of(error, path=deletion.document_path)
    except MemoryStoreError as error:
        logger.warning("upkeep_delete_refused", path=deletion.path, code=error.code)
        return str(error)
    return None
