"""RemoteStore: both seams over a service, and the protocols that the service announces.

Arguments are checked here, before anything is sent, in the order of
docs/reference/stores.md; what only the service can know it refuses itself.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache
from typing import Any, ClassVar

from msgspec.json import Decoder

from commonhold.adapters.remote.callers import WireCaller
from commonhold.adapters.remote.mutations import RemoteMutations
from commonhold.adapters.remote.options import DEFAULT_OPTIONS, RemoteOptions
from commonhold.adapters.remote.paging import follow, require_within, since_text
from commonhold.adapters.remote.protocols import Erasures, Keys, Pages
from commonhold.contract.documents import (
    DEFAULT_VERSIONS_LIMIT,
    MemoryDocument,
    MemoryEntry,
    MemoryRedaction,
    MemoryVersion,
)
from commonhold.contract.ids import check_conversation_id, check_path, check_scope
from commonhold.contract.limits import (
    require_memory_limit,
    require_positive_limit,
    require_window,
)
from commonhold.contract.search import query_terms
from commonhold.contract.text import NUL, require_encodable
from commonhold.contract.turns import (
    DEFAULT_SEARCH_LIMIT,
    SEARCH_BOUND,
    ConversationProjection,
    ConversationTurn,
)
from commonhold.ops.settings import Secret
from commonhold.wire.answers import (
    ConversationsAnswer,
    DocumentAnswer,
    EntriesAnswer,
    Handshake,
    NumberAnswer,
    ProjectionsAnswer,
    RedactionsAnswer,
    ScopesAnswer,
    TurnsAnswer,
    VersionsAnswer,
)

# Ids of one search: a request of up to a megabyte.
_SEARCHED_AT_ONCE = 5000

_documents = Decoder(DocumentAnswer)
_entries = Decoder(EntriesAnswer)
_versions = Decoder(VersionsAnswer)
_redactions = Decoder(RedactionsAnswer)
_turns = Decoder(TurnsAnswer)
_numbers = Decoder(NumberAnswer)
_projections = Decoder(ProjectionsAnswer)
_scopes = Decoder(ScopesAnswer)
_conversations = Decoder(ConversationsAnswer)


class RemoteStore(RemoteMutations):
    """Documents and conversations of a state service.

    `open_remote_store` makes one: what a store can do is known once the service has said
    so. Mutations are inherited, as a view under a key has the same ones.
    """

    supports_optimistic_concurrency: ClassVar[bool] = False

    def __init__(self, caller: WireCaller, *, service: Handshake) -> None:
        super().__init__(caller)
        self.service = service

    @property
    def client(self) -> str:
        """Who the service takes the token's owner for: the head of every recorded actor."""
        return self.service.client

    async def close(self) -> None:
        await self._caller.close()

    async def shake_hands(self) -> Handshake:
        """Ask the service again what it is; raises as `open_remote_store` does."""
        return await self._caller.shake_hands()

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        check_scope(scope)
        check_path(path)
        answer = await self._caller.read("memory/read", {"scope": scope, "path": path}, _documents)
        return answer.document

    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        check_scope(scope)

        async def fetch(
            cursor: str | None, limit: int | None
        ) -> tuple[Sequence[MemoryEntry], str | None]:
            parameters = {"scope": scope, "prefix": prefix, "cursor": cursor, "limit": limit}
            answer = await self._caller.read("memory/list_documents", parameters, _entries)
            return answer.entries, answer.next_cursor

        return await follow(fetch, start=None, limit=None, endless=self._endless)

    async def versions(
        self, scope: str, path: str, *, limit: int = DEFAULT_VERSIONS_LIMIT
    ) -> tuple[MemoryVersion, ...]:
        check_scope(scope)
        check_path(path)
        require_memory_limit(limit)

        async def fetch(
            cursor: str | None, left: int | None
        ) -> tuple[Sequence[MemoryVersion], str | None]:
            parameters = {"scope": scope, "path": path, "cursor": cursor, "limit": left}
            answer = await self._caller.read("memory/versions", parameters, _versions)
            return answer.versions, answer.next_cursor

        return await follow(fetch, start=None, limit=limit, endless=self._endless)

    async def history(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryVersion, ...]:
        check_scope(scope)
        start = since_text(since)
        require_memory_limit(limit)

        async def fetch(
            cursor: str | None, left: int | None
        ) -> tuple[Sequence[MemoryVersion], str | None]:
            parameters = {"scope": scope, "since": start, "cursor": cursor, "limit": left}
            answer = await self._caller.read("memory/history", parameters, _versions)
            return answer.versions, answer.next_cursor

        return await follow(fetch, start=None, limit=limit, endless=self._endless)

    async def redactions(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryRedaction, ...]:
        check_scope(scope)
        start = since_text(since)
        require_memory_limit(limit)

        async def fetch(
            cursor: str | None, left: int | None
        ) -> tuple[Sequence[MemoryRedaction], str | None]:
            parameters = {"scope": scope, "since": start, "cursor": cursor, "limit": left}
            answer = await self._caller.read("memory/redactions", parameters, _redactions)
            return answer.redactions, answer.next_cursor

        return await follow(fetch, start=None, limit=limit, endless=self._endless)

    async def read_turns(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationTurn, ...]:
        check_conversation_id(conversation_id)
        require_window(after=after, limit=limit)

        async def fetch(
            after: int | None, left: int | None
        ) -> tuple[Sequence[ConversationTurn], int | None]:
            parameters = {"conversation_id": conversation_id, "after": after, "limit": left}
            answer = await self._caller.read("conversation/read_turns", parameters, _turns)
            return answer.turns, answer.next_after

        return await follow(fetch, start=after, limit=limit, endless=self._endless)

    async def last_turn_number(self, conversation_id: str) -> int:
        check_conversation_id(conversation_id)
        answer = await self._caller.read(
            "conversation/last_turn_number", {"conversation_id": conversation_id}, _numbers
        )
        return answer.turn

    async def search_turns(
        self,
        query: str,
        *,
        conversations: Sequence[str] | None = None,
        limit: int = DEFAULT_SEARCH_LIMIT,
    ) -> tuple[ConversationTurn, ...]:
        query_terms(query)
        require_encodable(query, name="query")
        for name in conversations or ():
            check_conversation_id(name)
        require_positive_limit(limit)
        parameters = {
            "query": query,
            "conversations": None if conversations is None else tuple(conversations),
            "limit": min(limit, SEARCH_BOUND),
        }
        answer = await self._caller.read("conversation/search_turns", parameters, _turns)
        require_within(answer.turns, limit=limit, bound=SEARCH_BOUND, what="turns of a search")
        return answer.turns

    async def search_turns_within(
        self, query: str, *, prefixes: Sequence[str], limit: int = DEFAULT_SEARCH_LIMIT
    ) -> tuple[ConversationTurn, ...]:
        """As `search_turns`, over ids that are listed first: the wire knows no prefixes.

        It needs a token that reaches the whole store, unless no prefix fences anything.
        """
        query_terms(query)
        require_encodable(query, name="query")
        for prefix in prefixes:
            require_encodable(prefix, name="prefixes")
        require_positive_limit(limit)
        fence = tuple(prefix for prefix in prefixes if NUL not in prefix)
        if "" in fence:
            return await self.search_turns(query, limit=limit)
        names = [name for name in await self.conversations() if name.startswith(fence)]
        found: list[ConversationTurn] = []
        for start in range(0, len(names), _SEARCHED_AT_ONCE):
            some = names[start : start + _SEARCHED_AT_ONCE]
            found += await self.search_turns(query, conversations=some, limit=limit)
        found.sort(key=_order, reverse=True)
        return tuple(found[:limit])

    async def read_projections(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationProjection, ...]:
        check_conversation_id(conversation_id)
        require_window(after=after, limit=limit)

        async def fetch(
            after: int | None, left: int | None
        ) -> tuple[Sequence[ConversationProjection], int | None]:
            parameters = {"conversation_id": conversation_id, "after": after, "limit": left}
            answer = await self._caller.read(
                "conversation/read_projections", parameters, _projections
            )
            return answer.entries, answer.next_after

        return await follow(fetch, start=after, limit=limit, endless=self._endless)

    async def scopes(self) -> tuple[str, ...]:
        return (await self._caller.read("store/scopes", {}, _scopes)).scopes

    async def conversations(self) -> tuple[str, ...]:
        return (await self._caller.read("store/conversations", {}, _conversations)).conversations

    def _endless(self) -> Exception:
        return self._caller.unexpected("a listing", "pages without an end")


async def open_remote_store(
    url: str, token: Secret, *, options: RemoteOptions = DEFAULT_OPTIONS
) -> RemoteStore:
    """The store behind a URL, with the protocols that its service announces.

    `close` ends its connections. Raises ConfigurationError for another wire version and a
    token that is not accepted, StoreUnavailableError when the service cannot be reached, and
    UnexpectedAnswerError when something else answers there.
    """
    caller = WireCaller(url, token, options=options)
    try:
        service = await caller.shake_hands()
    except BaseException:
        await caller.close()
        raise
    kind = _kind(
        pageable=service.pageable,
        erasable=service.erasable,
        guarded=caller.keeps_keys,
        races_safely=service.supports_optimistic_concurrency,
    )
    return kind(caller, service=service)


@asynccontextmanager
async def remote_store(
    url: str, token: Secret, *, options: RemoteOptions = DEFAULT_OPTIONS
) -> AsyncIterator[RemoteStore]:
    """As `open_remote_store`, closed with the block."""
    store = await open_remote_store(url, token, options=options)
    try:
        yield store
    finally:
        await store.close()


@cache
def _kind(
    *, pageable: bool, erasable: bool, guarded: bool, races_safely: bool
) -> type[RemoteStore]:
    """The class of a service that can do just that."""
    parts: list[type] = []
    if pageable:
        parts.append(Pages)
    if erasable:
        parts.append(Erasures)
    if guarded:
        parts.append(Keys)
    namespace: dict[str, Any] = {
        "__doc__": RemoteStore.__doc__,
        "__module__": __name__,
        "supports_optimistic_concurrency": races_safely,
    }
    return type("RemoteStore", (*parts, RemoteStore), namespace)


def _order(turn: ConversationTurn) -> tuple[datetime, str, int]:
    return turn.created_at, turn.conversation_id, turn.turn
