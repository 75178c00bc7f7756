"""Erasure of documents by age (docs/reference/stores.md, section 19)."""

from datetime import datetime
from typing import Protocol, runtime_checkable

import msgspec

from commonhold.contract.paging import Page


class AgedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A path, live or deleted, with its newest version and when that came to be."""

    path: str
    version: int
    changed_at: datetime


@runtime_checkable
class VersionEraser(Protocol):
    """Erasure of what has not changed since it was looked at."""

    async def redact_if(
        self, scope: str, path: str, *, expected_version: int, actor: str | None = None
    ) -> None:
        """As `redact` of a path whose newest version, a deletion included, is exactly that.

        Else it is a MemoryConflictError (`version_mismatch`, or `document_absent` for a
        path never written), and nothing changes: what was written since is never erased.
        """
        ...


@runtime_checkable
class Expirable(VersionEraser, Protocol):
    """What has long been unchanged, and its erasure."""

    async def aged_documents_page(
        self, scope: str, *, before: datetime, cursor: str | None = None, limit: int
    ) -> Page[AgedDocument]:
        """Paths changed last before `before` of which something is left to erase, by path.

        Deleted ones too: their versions hold content until they are redacted.
        """
        ...
