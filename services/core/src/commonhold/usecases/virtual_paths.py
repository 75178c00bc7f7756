"""Paths as callers write them, `/{mount}/{document path}`, and what a mount allows there.

docs/reference/memory-tool.md, sections 4, 5 and 15.
"""

from collections.abc import Iterable

import msgspec

from commonhold.contract.documents import MemoryEntry
from commonhold.contract.errors import EditOnlyMountError, PathInvalidError, ReadOnlyMountError
from commonhold.usecases.mounts import Mount, MountTable

MAILBOX_PREFIX = "messages/"
# Documents that are the state of other tools: no memory command reaches or shows them.
STATE_PREFIXES = (MAILBOX_PREFIX, "message-links/")


class Place(msgspec.Struct, frozen=True):
    """A mount and a document path in it, empty for the mount's root.

    The document path is not validated here: the store does that, and names it alone.
    """

    mount: Mount
    document_path: str

    @property
    def scope(self) -> str:
        return self.mount.scope

    def __str__(self) -> str:
        return virtual_path(self.mount, self.document_path)


def virtual_path(mount: Mount, document_path: str) -> str:
    """The canonical spelling, which every answer uses."""
    if not document_path:
        return f"/{mount.mount_path}"
    return f"/{mount.mount_path}/{document_path}"


def is_root(path: str | None) -> bool:
    return path is None or not path.strip("/")


def resolve(table: MountTable, path: str) -> Place:
    """Find the mount of a path; raises PathInvalidError for the root and unknown mounts."""
    name, _, document_path = path.strip("/").partition("/")
    if not name:
        raise PathInvalidError(path=path, reason="the root is not a single mount")
    mount = table.find(name)
    if mount is None:
        available = ", ".join(f"/{known.mount_path}" for known in table.mounts)
        reason = f"no mount named {name!r} (available mounts: {available})"
        raise PathInvalidError(path=path, reason=reason)
    return Place(mount, document_path)


def resolve_document(table: MountTable, path: str) -> Place:
    """As `resolve`, and raises PathInvalidError for the root of a mount."""
    place = resolve(table, path)
    if not place.document_path:
        raise PathInvalidError(path=path, reason="a mount root is not a document")
    return place


def require_writable(place: Place) -> None:
    if place.mount.read_only:
        raise ReadOnlyMountError(mount_path=place.mount.mount_path)


def require_structural(place: Place) -> None:
    """For an act that makes a document come or go."""
    if place.mount.edit_only:
        raise EditOnlyMountError(mount_path=place.mount.mount_path)


def is_state(document_path: str) -> bool:
    return document_path.startswith(STATE_PREFIXES)


def is_state_directory(document_path: str) -> bool:
    return f"{document_path}/" in STATE_PREFIXES


def without_state(entries: Iterable[MemoryEntry]) -> tuple[MemoryEntry, ...]:
    return tuple(entry for entry in entries if not is_state(entry.path))
