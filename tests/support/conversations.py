"""Turns to tell: what the tests of conversations as text share."""

from datetime import UTC, datetime
from typing import Any

from commonhold.contract import ConversationStore, ConversationTurn, Message, ToolCall

STAMP = datetime(2026, 11, 1, 9, 13, tzinfo=UTC)


def user(text: str) -> Message:
    return Message(role="user", content=text)


def agent(text: str | None, *calls: ToolCall) -> Message:
    return Message(role="assistant", content=text, tool_calls=calls)


def call(name: str, call_id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def result(text: str, call_id: str | None = "c1") -> Message:
    return Message(role="tool", content=text, tool_call_id=call_id)


def turn(
    *messages: Message, number: int = 1, conversation_id: str = "chat-1", redacted: bool = False
) -> ConversationTurn:
    return ConversationTurn(
        conversation_id=conversation_id,
        turn=number,
        messages=messages,
        created_at=STAMP,
        redacted=redacted,
    )


async def tell(
    store: ConversationStore, conversation_id: str, *texts: str, actor: str | None = None
) -> None:
    """Append one turn a text, each a question with its answer."""
    for text in texts:
        await store.append_turn(conversation_id, [user(text), agent(f"Re: {text}")], actor=actor)
