"""Answers as records, for whoever calls the wire (docs/reference/wire.md, sections 2 to 9, 14)."""

from collections.abc import Mapping
from typing import Any

import msgspec

from commonhold.contract.documents import (
    MemoryDocument,
    MemoryEntry,
    MemoryRedaction,
    MemoryVersion,
)
from commonhold.contract.turns import (
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
)

WIRE_VERSION = 6
BODY_LIMIT_BYTES = 67108864
# A response header of the handshake: the service keeps idempotency keys.
KEYS_HEADER = "Commonhold-Idempotency"
KEYS_VERSION = "1"
# Request headers of a mutation: its key, and the digest that stands for its body.
KEY_HEADER = "Idempotency-Key"
DIGEST_HEADER = "Commonhold-Idempotency-Digest"


class Handshake(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `GET /v1/capabilities`; what is absent is not there."""

    wire_version: int
    neosian_version: str = ""
    backend: str = ""
    supports_optimistic_concurrency: bool = False
    pageable: bool = False
    erasable: bool = False
    client: str


class DocumentAnswer(msgspec.Struct, frozen=True):
    document: MemoryDocument | None


class DeletedAnswer(msgspec.Struct, frozen=True):
    deleted: bool


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


class TurnAnswer(msgspec.Struct, frozen=True):
    turn: ConversationTurn


class TurnsAnswer(msgspec.Struct, frozen=True):
    """Of read_turns, and of search_turns, which has no `next_after`."""

    turns: tuple[ConversationTurn, ...]
    next_after: int | None = None


class NumberAnswer(msgspec.Struct, frozen=True):
    turn: int


class ProjectionsAnswer(msgspec.Struct, frozen=True):
    entries: tuple[ConversationProjection, ...]
    next_after: int | None


class TrailAnswer(msgspec.Struct, frozen=True):
    redactions: tuple[ConversationRedaction, ...]


class ScopesAnswer(msgspec.Struct, frozen=True):
    scopes: tuple[str, ...]


class ConversationsAnswer(msgspec.Struct, frozen=True):
    conversations: tuple[str, ...]


class DoneAnswer(msgspec.Struct, frozen=True):
    """An object without keys."""


class RememberedCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was answered under a key: one of the three, or none of them for an empty answer."""

    operation: str
    document: MemoryDocument | None = None
    turn: ConversationTurn | None = None
    value: bool | int | None = None


class RecallAnswer(msgspec.Struct, frozen=True):
    remembered: RememberedCall | None


class Refusal(msgspec.Struct, frozen=True):
    code: str
    message: str
    details: Mapping[str, Any] = {}


class RefusalAnswer(msgspec.Struct, frozen=True):
    """The envelope of docs/reference/errors.md, section 1."""

    error: Refusal
