"""The erasure of content, by an operator (docs/reference/memory-tool.md, section 13)."""

import msgspec

from commonhold.contract.stores import MemoryEraser
from commonhold.usecases.mounts import MountTable
from commonhold.usecases.virtual_paths import Place, require_writable, resolve


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """What an erasure matched: distinct paths, already blank ones included."""

    place: Place
    scope_wide: bool
    matched: int

    def __str__(self) -> str:
        documents = "1 document" if self.matched == 1 else f"{self.matched} documents"
        if not self.scope_wide:
            return f"redacted {documents} at {self.place}"
        mount = self.place.mount
        return f"redacted {documents} in scope {mount.scope!r} (mount /{mount.mount_path})"


async def redact(
    documents: MemoryEraser,
    table: MountTable,
    path: str,
    *,
    whole_scope: bool = False,
    actor: str | None = None,
) -> Erasure:
    """Blank a document and its history for good, or with `whole_scope` every one of a mount.

    A mount's scope is erased whole, so other mounts of that scope are too. Edit-only mounts
    and reserved paths may be erased, read-only mounts not. Finding nothing is a success.
    Raises ValueError when the path and `whole_scope` do not fit together, and the store's
    errors.
    """
    place = resolve(table, path)
    if whole_scope and place.document_path:
        raise ValueError(f"{place} is a document; only a mount is redacted whole")
    if not whole_scope and not place.document_path:
        raise ValueError(f"{place} is a mount; redacting it whole must be asked for")
    require_writable(place)
    matched = await documents.redact(place.scope, path=place.document_path or None, actor=actor)
    return Erasure(place=place, scope_wide=whole_scope, matched=matched)
