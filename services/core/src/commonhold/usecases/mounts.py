"""Mounts: which scopes a caller sees, under which names, and what it may do there.

docs/reference/memory-tool.md, section 3.
"""

import msgspec

from commonhold.contract.errors import PathInvalidError
from commonhold.contract.ids import check_path, check_scope

# Where models that were trained on a memory tool look first.
DEFAULT_MOUNT_PATH = "memories"
SESSIONS_MOUNT_PATH = "project"


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """A scope bound to one top-level directory.

    `read_only` refuses every change; `edit_only` fixes which documents there are and lets
    their content change. The flags belong to the mount: another mount of the same scope
    may differ.
    """

    scope: str
    mount_path: str
    read_only: bool = False
    description: str = ""
    edit_only: bool = False

    def __post_init__(self) -> None:
        check_scope(self.scope)
        check_path(self.mount_path)
        if "/" in self.mount_path:
            raise PathInvalidError(path=self.mount_path, reason="a mount path is a single segment")
        if self.read_only and self.edit_only:
            raise ValueError(f"mount {self.mount_path!r} is read-only and edit-only at once")

    @property
    def is_open(self) -> bool:
        """Whether documents can come and go."""
        return not (self.read_only or self.edit_only)


class MountTable(msgspec.Struct, frozen=True):
    """The mounts of one caller. Their order is the order of the index and of skills."""

    mounts: tuple[Mount, ...]

    def __post_init__(self) -> None:
        if not self.mounts:
            raise ValueError("at least one mount is needed")
        if len({mount.mount_path for mount in self.mounts}) < len(self.mounts):
            raise ValueError("mount paths must be unique")

    def find(self, mount_path: str) -> Mount | None:
        return next((mount for mount in self.mounts if mount.mount_path == mount_path), None)


def bare_scope_mount(scope: str) -> Mount:
    """A scope given without a mount: read-write at `memories`."""
    return Mount(scope=scope, mount_path=DEFAULT_MOUNT_PATH)


def sessions_mount(table: MountTable) -> Mount | None:
    """Where sessions and the handoff note live (docs/reference/memory-tool.md, section 15)."""
    project = table.find(SESSIONS_MOUNT_PATH)
    if project is not None and project.is_open:
        return project
    return next((mount for mount in table.mounts if mount.is_open), None)
