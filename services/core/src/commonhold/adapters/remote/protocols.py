"""The optional protocols that a service may announce, each as a part of a store.

A store has only the methods of what its service can do, so that whoever asks
`isinstance(store, Pageable)` gets the service's own word.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from msgspec.json import Decoder

from commonhold.adapters.remote.callers import WireCaller
from commonhold.adapters.remote.mutations import RemoteMutations
from commonhold.adapters.remote.paging import page_limit, require_within, since_text
from commonhold.contract.documents import MemoryEntry, MemoryRedaction, MemoryVersion
from commonhold.contract.idempotency import IdempotencyKey, Remembered
from commonhold.contract.ids import check_conversation_id, check_path, check_scope
from commonhold.contract.limits import require_positive_limit
from commonhold.contract.paging import Page
from commonhold.contract.turns import DEFAULT_TRAIL_LIMIT, TRAIL_BOUND, ConversationRedaction
from commonhold.wire.answers import (
    DIGEST_HEADER,
    KEY_HEADER,
    EntriesAnswer,
    RecallAnswer,
    RedactionsAnswer,
    TrailAnswer,
    VersionsAnswer,
)

T = TypeVar("T")

_entries = Decoder(EntriesAnswer)
_versions = Decoder(VersionsAnswer)
_redactions = Decoder(RedactionsAnswer)
_trails = Decoder(TrailAnswer)
_recalls = Decoder(RecallAnswer)


class Pages:
    """`Pageable`: the wire's own pages, one call each."""

    _caller: WireCaller

    async def list_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryEntry]:
        check_scope(scope)
        answer = await self._caller.read(
            "memory/list_documents",
            {"scope": scope, "prefix": prefix, "cursor": cursor, "limit": page_limit(limit)},
            _entries,
        )
        return Page(items=answer.entries, next_cursor=answer.next_cursor)

    async def versions_page(
        self, scope: str, path: str, *, cursor: str | None = None, limit: int
    ) -> Page[MemoryVersion]:
        check_scope(scope)
        check_path(path)
        answer = await self._caller.read(
            "memory/versions",
            {"scope": scope, "path": path, "cursor": cursor, "limit": page_limit(limit)},
            _versions,
        )
        return Page(items=answer.versions, next_cursor=answer.next_cursor)

    async def history_page(
        self,
        scope: str,
        *,
        since: datetime | None = None,
        cursor: str | None = None,
        limit: int,
    ) -> Page[MemoryVersion]:
        answer = await self._ledger("memory/history", scope, since, cursor, limit, _versions)
        return Page(items=answer.versions, next_cursor=answer.next_cursor)

    async def redactions_page(
        self,
        scope: str,
        *,
        since: datetime | None = None,
        cursor: str | None = None,
        limit: int,
    ) -> Page[MemoryRedaction]:
        answer = await self._ledger("memory/redactions", scope, since, cursor, limit, _redactions)
        return Page(items=answer.redactions, next_cursor=answer.next_cursor)

    async def _ledger(  # noqa: PLR0917 - the parameters of a route, in its own order
        self,
        route: str,
        scope: str,
        since: datetime | None,
        cursor: str | None,
        limit: int,
        answers: Decoder[T],
    ) -> T:
        check_scope(scope)
        start = since_text(since)
        parameters = {
            "scope": scope,
            "since": start,
            "cursor": cursor,
            "limit": page_limit(limit),
        }
        return await self._caller.read(route, parameters, answers)


class Erasures:
    """What `Erasable` has beside the mutation: its trail."""

    _caller: WireCaller

    async def turn_redactions(
        self,
        *,
        conversations: Sequence[str] | None = None,
        since: datetime | None = None,
        limit: int = DEFAULT_TRAIL_LIMIT,
    ) -> tuple[ConversationRedaction, ...]:
        for name in conversations or ():
            check_conversation_id(name)
        start = since_text(since)
        require_positive_limit(limit)
        parameters = {
            "conversations": None if conversations is None else tuple(conversations),
            "since": start,
            "limit": min(limit, TRAIL_BOUND),
        }
        answer = await self._caller.read("conversation/turn_redactions", parameters, _trails)
        require_within(answer.redactions, limit=limit, bound=TRAIL_BOUND, what="acts of a trail")
        return answer.redactions


class Keys:
    """`Guarded` and `Remembering`: the keys that the service keeps.

    The service knows one client, whoever calls through this store; so a key travels as a
    digest of its client and its value, and the request's digest as one of it.
    """

    _caller: WireCaller

    def guarded(self, *, key: IdempotencyKey, digest: bytes) -> RemoteMutations:
        headers = {KEY_HEADER: _spelled_key(key), DIGEST_HEADER: _spelled_digest(digest)}
        return RemoteMutations(self._caller, headers=headers)

    async def recall(self, *, key: IdempotencyKey, digest: bytes) -> Remembered | None:
        parameters: Mapping[str, Any] = {
            "key": _spelled_key(key),
            "digest": _spelled_digest(digest),
        }
        answer = await self._caller.read("idempotency/recall", parameters, _recalls)
        found = answer.remembered
        if found is None:
            return None
        return Remembered(found.operation, found.document or found.turn or found.value)


def _spelled_key(key: IdempotencyKey) -> str:
    return hashlib.sha256(f"{key.client}\0{key.value}".encode()).hexdigest()


def _spelled_digest(digest: bytes) -> str:
    return hashlib.sha256(digest).hexdigest()
