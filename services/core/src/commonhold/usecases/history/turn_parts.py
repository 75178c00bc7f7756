"""What rendering asks of the messages of a turn (docs/reference/mcp.md, section 11).

System messages are for the model of that conversation alone, and are left out everywhere.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from commonhold.contract.messages import Message, ToolCall
from commonhold.contract.search import compact_json, message_text

ANONYMOUS_TOOL = "tool"


class AnsweredCall(msgspec.Struct, frozen=True):
    """A call, and what came back for it in the same turn."""

    call: ToolCall
    result: str | None


def shown(messages: Sequence[Message]) -> Iterator[Message]:
    return (message for message in messages if message.role != "system")


def answered_calls(messages: Sequence[Message]) -> list[AnsweredCall]:
    """The calls in order. Where an id repeats, its results go to its calls in turn."""
    results: dict[str, deque[str]] = {}
    for message in messages:
        if message.role == "tool" and message.tool_call_id is not None:
            results.setdefault(message.tool_call_id, deque()).append(message_text(message))
    calls = (call for message in shown(messages) for call in message.tool_calls)
    return [AnsweredCall(call, _next(results.get(call.id))) for call in calls]


def call_names(messages: Sequence[Message]) -> dict[str, str]:
    names: dict[str, str] = {}
    for message in shown(messages):
        for call in message.tool_calls:
            names.setdefault(call.id, call.name)
    return names


def arguments_text(call: ToolCall) -> str:
    return compact_json(call.arguments)


def argument_strings(call: ToolCall) -> Iterator[str]:
    """The string values inside the arguments, in the order in which they stand."""
    pending: list[Any] = [call.arguments]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            pending.extend(reversed(list(value.values())))
        elif isinstance(value, Sequence):
            pending.extend(reversed(value))


def _next(results: deque[str] | None) -> str | None:
    return results.popleft() if results else None
