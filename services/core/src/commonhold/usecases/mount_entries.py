"""A mount as the files of clients and gardens write it."""

import msgspec

from commonhold.usecases.mounts import Mount


class MountEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    scope: str
    path: str
    read_only: bool = False
    edit_only: bool = False
    description: str = ""


def mount_of(entry: MountEntry, *, scope: str | None = None) -> Mount:
    """The mount, of another scope when the entry's own is a template."""
    return Mount(
        scope=entry.scope if scope is None else scope,
        mount_path=entry.path,
        read_only=entry.read_only,
        edit_only=entry.edit_only,
        description=entry.description,
    )
