"""The answers of wire 6 that commands of the shell read (docs/reference/wire.md, section 5)."""

from datetime import datetime
from typing import Any

import msgspec

from commonhold.contract.documents import (
    MemoryDocument,
    MemoryEntry,
    MemoryRedaction,
    MemoryVersion,
)


class DocumentAnswer(msgspec.Struct, frozen=True):
    document: MemoryDocument | None


class EntriesAnswer(msgspec.Struct, frozen=True):
    entries: tuple[MemoryEntry, ...]
    next_cursor: str | None


class VersionsAnswer(msgspec.Struct, frozen=True):
    versions: tuple[MemoryVersion, ...]
    next_cursor: str | None


class RedactionsAnswer(msgspec.Struct, frozen=True):
    redactions: tuple[MemoryRedaction, ...]
    next_cursor: str | None


class CountAnswer(msgspec.Struct, frozen=True):
    count: int


class Turn(msgspec.Struct, frozen=True):
    """A turn with its messages as they came: this side only shows them."""

    turn: int
    messages: list[dict[str, Any]]
    created_at: datetime
    actor: str | None
    redacted: bool


class TurnAnswer(msgspec.Struct, frozen=True):
    turn: Turn


class TurnsAnswer(msgspec.Struct, frozen=True):
    turns: tuple[Turn, ...]
