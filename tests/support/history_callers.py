"""Callers of the history tools: who asks, how far they reach, and what they are told."""

from collections.abc import Sequence
from typing import Any, Protocol

from commonhold.conformance import TickingClock
from commonhold.contract import (
    Clock,
    ConversationStore,
    Erasable,
    MemoryDocument,
    MemoryStore,
    SearchableWithin,
)
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.envelopes import ToolResult
from commonhold.usecases.history.contexts import EVERYTHING, HistoryContext, Reach
from commonhold.usecases.history.continuations import continue_session
from commonhold.usecases.history.handoffs import handoff
from commonhold.usecases.history.recalls import recall_turn
from commonhold.usecases.history.searches import search_history
from commonhold.usecases.mount_tokens import parse_mounts
from tests.support.memory_callers import PROJECT

SCOPE = "project:erp"


class WholeStore(MemoryStore, ConversationStore, SearchableWithin, Erasable, Protocol):
    """All that these tests ask of a store."""


async def record_session(
    store: MemoryStore, conversation_id: str, *, continues: Sequence[str] = ()
) -> None:
    lines = [f"# demo session {conversation_id}", "", f"- conversation: {conversation_id}"]
    lines += [f"- continues: {earlier}" for earlier in continues]
    await store.write(SCOPE, f"sessions/{conversation_id}", "\n".join([*lines, ""]))


class Reader:
    """One agent with its reach; each call is a tool, and answers are kept whole."""

    def __init__(
        self,
        store: WholeStore,
        *tokens: str,
        actor: str | None = "client:ana/mcp:gateway",
        reach: Reach = EVERYTHING,
        clock: Clock | None = None,
        earlier_pick_up: MemoryDocument | None = None,
        documents: Any = None,
        conversations: Any = None,
    ) -> None:
        self.context = HistoryContext(
            conversations=conversations or store,
            memory=MemoryContext(
                documents=documents or store,
                mounts=parse_mounts(list(tokens) or [PROJECT]),
                actor=actor,
            ),
            clock=clock or TickingClock(),
            reach=reach,
            earlier_pick_up=earlier_pick_up,
        )

    async def recall(self, number: int, conversation: str, **options: Any) -> ToolResult:
        return await recall_turn(self.context, turn=number, conversation=conversation, **options)

    async def search(self, query: str, **options: Any) -> ToolResult:
        return await search_history(self.context, query=query, **options)

    async def go_on(self, **options: Any) -> ToolResult:
        return await continue_session(self.context, **options)

    async def hand_off(self, note: str) -> ToolResult:
        return await handoff(self.context, note=note)


def data(answer: ToolResult) -> str:
    assert answer.success, answer
    assert answer.data is not None
    return answer.data


def refusal(answer: ToolResult) -> tuple[str | None, str | None]:
    assert not answer.success, answer
    return answer.error, answer.system_reminder
