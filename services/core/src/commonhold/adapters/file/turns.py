"""The conversation seam of FileStore, with its eraser.

Arguments are checked here, on the event loop; what touches files runs on the store's thread.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from commonhold.adapters.file import checks
from commonhold.adapters.file.conversations import Conversations, list_ids
from commonhold.adapters.file.tree import Tree
from commonhold.adapters.file.workers import Worker
from commonhold.contract.clock import Clock
from commonhold.contract.ids import check_conversation_id
from commonhold.contract.limits import (
    require_positive_limit,
    require_selectors,
    require_window,
)
from commonhold.contract.messages import Message, settle_messages
from commonhold.contract.text import require_encodable, require_storable_tree
from commonhold.contract.turns import (
    DEFAULT_SEARCH_LIMIT,
    DEFAULT_TRAIL_LIMIT,
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
)


class FileTurns:
    """Conversations, in the files of one root."""

    def __init__(self, worker: Worker, clock: Clock) -> None:
        self._turns_worker = worker
        self._conversations = Conversations(clock)

    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        check_conversation_id(conversation_id)
        if not messages:
            raise ValueError("a turn must carry at least one message")
        require_storable_tree(messages, name="messages")
        checks.actor(actor)
        settled = settle_messages(messages)
        return await self._turns_worker.change(
            lambda tree, change: self._conversations.append_turn(
                tree, change, conversation_id, settled, actor=actor
            )
        )

    async def read_turns(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationTurn, ...]:
        found, _ = await self._read_turns(conversation_id, after=after, limit=limit)
        return found

    async def read_turns_within(
        self, conversation_id: str, *, after: int, limit: int, max_bytes: int
    ) -> tuple[tuple[ConversationTurn, ...], bool]:
        """As `read_turns`, but what lies behind the turn that passes `max_bytes` is left out.

        The flag says whether something was. An edge bounds its memory by it.
        """
        return await self._read_turns(
            conversation_id, after=after, limit=limit, max_bytes=max_bytes
        )

    async def last_turn_number(self, conversation_id: str) -> int:
        check_conversation_id(conversation_id)
        return await self._turns_worker.read(
            lambda tree: self._conversations.last_turn_number(tree, conversation_id)
        )

    async def search_turns(
        self,
        query: str,
        *,
        conversations: Sequence[str] | None = None,
        limit: int = DEFAULT_SEARCH_LIMIT,
    ) -> tuple[ConversationTurn, ...]:
        terms = checks.terms(query)
        chosen = checks.conversation_ids(conversations)
        require_positive_limit(limit)
        return await self._turns_worker.read(
            lambda tree: self._conversations.search(
                tree, terms, _selected(tree, chosen), limit=limit
            )
        )

    async def search_turns_within(
        self, query: str, *, prefixes: Sequence[str], limit: int = DEFAULT_SEARCH_LIMIT
    ) -> tuple[ConversationTurn, ...]:
        terms = checks.terms(query)
        for prefix in prefixes:
            require_encodable(prefix, name="prefixes")
        require_positive_limit(limit)
        fence = tuple(prefixes)
        return await self._turns_worker.read(
            lambda tree: self._conversations.search(
                tree,
                terms,
                (name for name in list_ids(tree) if name.startswith(fence)),
                limit=limit,
            )
        )

    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        check_conversation_id(conversation_id)
        checks.entries(entries)
        if not entries:
            return
        await self._turns_worker.change(
            lambda tree, change: self._conversations.append_projections(
                tree, change, conversation_id, entries
            )
        )

    async def read_projections(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationProjection, ...]:
        found, _ = await self._read_projections(conversation_id, after=after, limit=limit)
        return found

    async def read_projections_within(
        self, conversation_id: str, *, after: int, limit: int, max_bytes: int
    ) -> tuple[tuple[ConversationProjection, ...], bool]:
        """As `read_turns_within`, of entries: the last turn may come without all of its own."""
        return await self._read_projections(
            conversation_id, after=after, limit=limit, max_bytes=max_bytes
        )

    async def redact_turns(
        self,
        conversation_id: str,
        *,
        through: int | None = None,
        turns: Sequence[int] | None = None,
        actor: str | None = None,
    ) -> int:
        check_conversation_id(conversation_id)
        require_selectors(through=through, turns=turns)
        checks.actor(actor)
        return await self._turns_worker.change(
            lambda tree, change: self._conversations.redact_turns(
                tree, change, conversation_id, through=through, turns=turns, actor=actor
            )
        )

    async def turn_redactions(
        self,
        *,
        conversations: Sequence[str] | None = None,
        since: datetime | None = None,
        limit: int = DEFAULT_TRAIL_LIMIT,
    ) -> tuple[ConversationRedaction, ...]:
        chosen = checks.conversation_ids(conversations)
        start = checks.since_utc(since)
        require_positive_limit(limit)
        return await self._turns_worker.read(
            lambda tree: self._conversations.redactions(
                tree, _selected(tree, chosen), since=start, limit=limit
            )
        )

    async def _read_turns(
        self, conversation_id: str, *, after: int, limit: int | None, max_bytes: int | None = None
    ) -> tuple[tuple[ConversationTurn, ...], bool]:
        check_conversation_id(conversation_id)
        require_window(after=after, limit=limit)
        return await self._turns_worker.read(
            lambda tree: self._conversations.read_turns(
                tree, conversation_id, after=after, limit=limit, max_bytes=max_bytes
            )
        )

    async def _read_projections(
        self, conversation_id: str, *, after: int, limit: int | None, max_bytes: int | None = None
    ) -> tuple[tuple[ConversationProjection, ...], bool]:
        check_conversation_id(conversation_id)
        require_window(after=after, limit=limit)
        return await self._turns_worker.read(
            lambda tree: self._conversations.read_projections(
                tree, conversation_id, after=after, limit=limit, max_bytes=max_bytes
            )
        )


def _selected(tree: Tree, chosen: frozenset[str] | None) -> Iterable[str]:
    return list_ids(tree) if chosen is None else sorted(chosen)
