"""Records of the memory seam (docs/reference/stores.md, section 2)."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

VersionAction: TypeAlias = Literal["created", "modified", "deleted"]
VERSION_ACTIONS: tuple[VersionAction, ...] = ("created", "modified", "deleted")

MEMORY_FORMAT = 1
DEFAULT_VERSIONS_LIMIT = 50


class MemoryDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A live document. `extra` holds keys of the substrate; writes never set it."""

    scope: str
    path: str
    content: str
    version: int
    created_at: datetime
    updated_at: datetime
    actor: str | None = None
    redacted: bool = False
    extra: Mapping[str, Any] = {}


class MemoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a listing: a live document without its content."""

    path: str
    version: int
    created_at: datetime
    updated_at: datetime
    redacted: bool = False


class MemoryDigest(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a listing with what its content is like, but without it.

    `digest` is the SHA-256 of the content in UTF-8. `is_blank` holds for nothing but
    white space, which is what Python's `str.strip` takes away.
    """

    path: str
    version: int
    created_at: datetime
    updated_at: datetime
    redacted: bool
    is_blank: bool
    digest: bytes


class MemoryVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the ledger, with full content. Redaction blanks rows and is never an action."""

    path: str
    version: int
    action: VersionAction
    content: str
    actor: str | None = None
    created_at: datetime
    redacted: bool = False


class MemoryRedaction(msgspec.Struct, frozen=True, kw_only=True):
    """One erasure. `path` None is the whole scope; `count` the distinct paths matched."""

    path: str | None
    actor: str | None
    created_at: datetime
    count: int


class ScopeArchive(msgspec.Struct, frozen=True, kw_only=True):
    """A scope whole: documents by path, versions by (path, version), redactions oldest first."""

    scope: str
    documents: tuple[MemoryDocument, ...] = ()
    versions: tuple[MemoryVersion, ...] = ()
    redactions: tuple[MemoryRedaction, ...] = ()


def entry_of(document: MemoryDocument) -> MemoryEntry:
    return MemoryEntry(
        path=document.path,
        version=document.version,
        created_at=document.created_at,
        updated_at=document.updated_at,
        redacted=document.redacted,
    )


def digest_of(document: MemoryDocument) -> MemoryDigest:
    return MemoryDigest(
        path=document.path,
        version=document.version,
        created_at=document.created_at,
        updated_at=document.updated_at,
        redacted=document.redacted,
        is_blank=not document.content.strip(),
        digest=hashlib.sha256(document.content.encode()).digest(),
    )


def version_of(document: MemoryDocument, *, action: VersionAction) -> MemoryVersion:
    """The row of the ledger that a live document mirrors."""
    return MemoryVersion(
        path=document.path,
        version=document.version,
        action=action,
        content=document.content,
        actor=document.actor,
        created_at=document.updated_at,
        redacted=document.redacted,
    )
