"""A turn as it was said (docs/reference/mcp.md, section 11.1)."""

import json
from collections.abc import Iterator, Mapping, Sequence

from commonhold.contract.messages import Message, ToolCall
from commonhold.contract.search import message_text
from commonhold.contract.turns import ConversationTurn
from commonhold.usecases.history.turn_parts import (
    ANONYMOUS_TOOL,
    AnsweredCall,
    answered_calls,
    arguments_text,
    call_names,
    shown,
)

WHOLE_RESULT = 4096
_EDGE = 2048
_NO_RESULT = "?"


def render_turn(turn: ConversationTurn) -> str:
    """The messages in order; a long result shows its edges, and how to open it."""
    if turn.redacted:
        return redacted_turn(turn)
    return "\n".join([f"Turn {turn.turn} (verbatim):", *_lines(turn.messages)])


def render_call(turn: ConversationTurn, call_id: str) -> str | None:
    """One call with its whole result; None when the turn made none of that id."""
    answered = next((one for one in answered_calls(turn.messages) if one.call.id == call_id), None)
    if answered is None:
        return None
    return "\n".join([f"Turn {turn.turn}, call {call_id} (verbatim):", *_call_lines(answered)])


def redacted_turn(turn: ConversationTurn) -> str:
    return f"Turn {turn.turn}: [redacted]"


def _lines(messages: Sequence[Message]) -> Iterator[str]:
    names = call_names(messages)
    for message in shown(messages):
        text = message_text(message)
        if message.role == "user":
            yield f"USER: {text}"
        elif message.role == "tool":
            yield _result_line(message.tool_call_id, text, names)
        elif text.strip():
            yield f"AGENT: {text.strip()}"
        for call in message.tool_calls:
            names[call.id] = call.name
            yield _call_line(call)


def _call_lines(answered: AnsweredCall) -> tuple[str, str]:
    result = _NO_RESULT if answered.result is None else answered.result
    return _call_line(answered.call), f"TOOL {answered.call.name} \N{RIGHTWARDS ARROW} {result}"


def _call_line(call: ToolCall) -> str:
    return f"AGENT calls {call.name}({arguments_text(call)})"


def _result_line(call_id: str | None, text: str, names: Mapping[str, str]) -> str:
    # A result that nothing in the turn asked for is shown whole: no call could open it.
    name = names.get(call_id) if call_id is not None else None
    if call_id is not None and name is not None:
        text = _edges(text, call_id)
    return f"TOOL {name or ANONYMOUS_TOOL} \N{RIGHTWARDS ARROW} {text}"


def _edges(text: str, call_id: str) -> str:
    left_out = len(text) - 2 * _EDGE
    if len(text) <= WHOLE_RESULT:
        return text
    opened_by = json.dumps(call_id, ensure_ascii=False)
    marker = (
        f" \N{HORIZONTAL ELLIPSIS} [{left_out} characters left out; "
        f"call={opened_by} opens this result] \N{HORIZONTAL ELLIPSIS} "
    )
    return f"{text[:_EDGE]}{marker}{text[-_EDGE:]}"
