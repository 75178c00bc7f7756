"""The ports: two stores and the optional protocols a store may add.

Semantics are in docs/reference/stores.md; the kits in `commonhold.conformance` are their
executable form. Methods are asynchronous, a constructor opens nothing, and time is read
only from an injected clock.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, Protocol, TypeAlias, runtime_checkable

from commonhold.contract.documents import (
    DEFAULT_VERSIONS_LIMIT,
    MemoryDigest,
    MemoryDocument,
    MemoryEntry,
    MemoryRedaction,
    MemoryVersion,
    ScopeArchive,
)
from commonhold.contract.idempotency import IdempotencyKey
from commonhold.contract.messages import Message
from commonhold.contract.paging import Page
from commonhold.contract.turns import (
    DEFAULT_SEARCH_LIMIT,
    DEFAULT_TRAIL_LIMIT,
    ConversationArchive,
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
)

# A path, and the version at which it must be live.
Witness: TypeAlias = tuple[str, int]


@runtime_checkable
class MemoryReader(Protocol):
    """What reading asks of a memory store (docs/reference/stores.md, section 4)."""

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        """The live document; a deleted one reads as absent, a redacted one as empty."""
        ...

    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        """Live documents whose path starts with `prefix`, by path in code point order."""
        ...

    async def versions(
        self, scope: str, path: str, *, limit: int = DEFAULT_VERSIONS_LIMIT
    ) -> tuple[MemoryVersion, ...]:
        """The newest `limit` versions of a path, newest first."""
        ...


@runtime_checkable
class MemoryEditor(MemoryReader, Protocol):
    """What the memory commands ask of a memory store: reading, and one change at a time."""

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
    ) -> MemoryDocument:
        """Add the next version and make it live.

        With `expected_version` the live document must have exactly that version, else
        MemoryConflictError (`version_mismatch`, or `document_absent` when none is live)
        and nothing changes; of racing writers that expect one version, one succeeds.
        """
        ...

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        """Record a `deleted` version that keeps the content; False when nothing is live."""
        ...

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        """Delete `src` and create `dst` with its content, in one step.

        Raises DocumentNotFoundError when `src` is not live, then MemoryConflictError
        (`destination_exists`) when `dst` is, `src` itself included.
        """
        ...


@runtime_checkable
class MemoryEraser(Protocol):
    """What an erasure asks of a memory store."""

    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        """Blank every version of a path, or of every path of the scope.

        Returns the number of distinct paths matched. Once it has returned, no row that
        existed before it took effect holds content any more, whoever wrote meanwhile.
        """
        ...


@runtime_checkable
class MemoryStore(MemoryEditor, MemoryEraser, Protocol):
    """Versioned documents by scope and path (docs/reference/stores.md, section 4).

    Every method checks the scope's grammar, then the paths', before anything else, and
    raises ScopeInvalidError or PathInvalidError.
    """

    # Whether the version check is race-safe across workers; every store checks.
    supports_optimistic_concurrency: ClassVar[bool] = False

    async def history(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryVersion, ...]:
        """All versions of all paths, newest first; `since` is inclusive."""
        ...

    async def redactions(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryRedaction, ...]:
        """The scope's erasures, newest first; `since` is inclusive."""
        ...


@runtime_checkable
class ConversationReader(Protocol):
    """What reading asks of a conversation store (docs/reference/stores.md, section 5)."""

    async def read_turns(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationTurn, ...]:
        """Turns numbered above `after`, ascending; `limit` keeps the oldest."""
        ...

    async def last_turn_number(self, conversation_id: str) -> int:
        """The highest number assigned, redacted turns included; 0 when there is none."""
        ...

    async def search_turns(
        self,
        query: str,
        *,
        conversations: Sequence[str] | None = None,
        limit: int = DEFAULT_SEARCH_LIMIT,
    ) -> tuple[ConversationTurn, ...]:
        """Turns that hold every term of `query`, newest first (section 7).

        `conversations` None searches the whole store, an empty sequence nothing.
        """
        ...

    async def read_projections(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationProjection, ...]:
        """Entries with turn above `after`, by turn, span and order of insertion."""
        ...


@runtime_checkable
class ConversationStore(ConversationReader, Protocol):
    """Append-only conversations (docs/reference/stores.md, section 5).

    Every method checks the id's grammar and raises ConversationIdInvalidError.
    """

    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        """Record one turn under the next number: gapless, never reused."""
        ...

    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        """Record derived entries, all or none; the turns need not exist."""
        ...


@runtime_checkable
class SearchableWithin(Protocol):
    """Search fenced by conversation-id prefixes (docs/reference/stores.md, section 14)."""

    async def search_turns_within(
        self, query: str, *, prefixes: Sequence[str], limit: int = DEFAULT_SEARCH_LIMIT
    ) -> tuple[ConversationTurn, ...]:
        """As `search_turns`, over the conversations whose id starts with one of `prefixes`.

        The fence stands before the limit, so that foreign hits never crowd out one's own.
        A prefix is plain text and an empty one reaches every conversation; without
        prefixes nothing is found.
        """
        ...


@runtime_checkable
class Pageable(Protocol):
    """Listings in pages (docs/reference/stores.md, section 8).

    Pages joined equal the unpaged answer. `limit` is 1 or more, else ValueError, as for
    a cursor that is not one of the same method.
    """

    async def list_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryEntry]: ...

    async def versions_page(
        self, scope: str, path: str, *, cursor: str | None = None, limit: int
    ) -> Page[MemoryVersion]: ...

    async def history_page(
        self,
        scope: str,
        *,
        since: datetime | None = None,
        cursor: str | None = None,
        limit: int,
    ) -> Page[MemoryVersion]: ...

    async def redactions_page(
        self,
        scope: str,
        *,
        since: datetime | None = None,
        cursor: str | None = None,
        limit: int,
    ) -> Page[MemoryRedaction]: ...


@runtime_checkable
class Digestible(Protocol):
    """Documents by digest (docs/reference/stores.md, section 16)."""

    async def digest_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryDigest]:
        """As `list_documents_page`, with a digest of each content instead of the content.

        Whoever compares many documents need not have them sent.
        """
        ...


@runtime_checkable
class Portable(Protocol):
    """Whole units out and in, verbatim (docs/reference/stores.md, section 9)."""

    async def scopes(self) -> tuple[str, ...]:
        """Every scope with a document, a version or an erasure, in code point order."""
        ...

    async def conversations(self) -> tuple[str, ...]:
        """Every conversation with a turn or a projection, in code point order."""
        ...

    async def restore_scope(self, archive: ScopeArchive) -> None:
        """Put a scope into an empty place, whole or not at all.

        Raises MemoryConflictError (`target_occupied`) when the scope holds anything.
        """
        ...

    async def restore_conversation(self, archive: ConversationArchive) -> None:
        """Put a conversation into an empty place, whole or not at all.

        Raises ConversationConflictError (`target_occupied`) when it holds anything.
        """
        ...


@runtime_checkable
class Erasable(Protocol):
    """Erasure of turns (docs/reference/stores.md, section 5, Eraser)."""

    async def redact_turns(
        self,
        conversation_id: str,
        *,
        through: int | None = None,
        turns: Sequence[int] | None = None,
        actor: str | None = None,
    ) -> int:
        """Blank the selected turns and every projection whose range meets one.

        Returns the number of turns matched, already blank ones included.
        """
        ...

    async def turn_redactions(
        self,
        *,
        conversations: Sequence[str] | None = None,
        since: datetime | None = None,
        limit: int = DEFAULT_TRAIL_LIMIT,
    ) -> tuple[ConversationRedaction, ...]:
        """Erasures newest first; `conversations` None is the whole store."""
        ...


@runtime_checkable
class Conditional(Protocol):
    """Creation, deletion and renaming by version (docs/reference/stores.md, section 15).

    Whatever does not stand when the locks are held is a MemoryConflictError that names
    its path (`version_mismatch` or `document_absent`), and nothing changes. So it is with
    the document itself and with each of `witnesses`, other documents of the scope with
    the version at which they must be live: a copy goes only while the one it copies stands.
    """

    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        """Write a document where none is live; a live one is a `destination_exists`.

        Of racing creations one succeeds.
        """
        ...

    async def delete_if(
        self,
        scope: str,
        path: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> int:
        """Delete exactly that version; the number of the `deleted` row."""
        ...

    async def rename_if(
        self,
        scope: str,
        src: str,
        dst: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> MemoryDocument:
        """Rename exactly that version of `src`; a live `dst` is a `destination_exists`."""
        ...


@runtime_checkable
class MemoryMutations(Protocol):
    """The memory methods that change something, as a guarded view offers them."""

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
    ) -> MemoryDocument: ...

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool: ...

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument: ...

    async def redact(
        self, scope: str, *, path: str | None = None, actor: str | None = None
    ) -> int: ...

    async def restore_scope(self, archive: ScopeArchive) -> None: ...


@runtime_checkable
class ConversationMutations(Protocol):
    """The conversation methods that change something, as a guarded view offers them."""

    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn: ...

    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None: ...

    async def redact_turns(
        self,
        conversation_id: str,
        *,
        through: int | None = None,
        turns: Sequence[int] | None = None,
        actor: str | None = None,
    ) -> int: ...

    async def restore_conversation(self, archive: ConversationArchive) -> None: ...


@runtime_checkable
class Mutations(MemoryMutations, ConversationMutations, Protocol):
    """Every method that changes something."""


@runtime_checkable
class Guarded(Protocol):
    """Mutations under an idempotency key (docs/reference/stores.md, section "Guarded")."""

    def guarded(self, *, key: IdempotencyKey, digest: bytes) -> Mutations:
        """A view for one mutation under `key`, in the mutation's own transaction.

        The first success under a key is remembered for 24 hours. A later call with the
        same key and digest changes nothing and answers from the rows the first one made,
        as they are now. Another digest raises ValueError (`KEY_REUSED`); a refusal is not
        remembered. While the first call still runs, the second waits for it, and raises
        StoreUnavailableError when that takes too long. The view of a Conditional store
        is Conditional.
        """
        ...
