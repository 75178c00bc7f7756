"""Search over turns: what is searched, and when a query matches.

Defined in docs/reference/stores.md, section 7; every store answers by these functions
or by something that cannot be told from them.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from commonhold.contract.messages import Message, TextBlock, ToolCall


def turn_text(messages: Sequence[Message]) -> str:
    """The searchable text of a turn: message text, then tool names with their arguments."""
    return "\n".join(_pieces(messages))


def fold(text: str) -> str:
    """Case is ignored by comparing lower-cased text with lower-cased terms."""
    return text.lower()


def query_terms(query: str) -> tuple[str, ...]:
    """The folded terms of a query; ValueError when it holds none."""
    terms = tuple(fold(query).split())
    if not terms:
        raise ValueError("query must contain at least one term")
    return terms


def matches(folded_text: str, terms: Sequence[str]) -> bool:
    """Whether every term is a substring; the text and the terms are folded already."""
    return all(term in folded_text for term in terms)


def message_text(message: Message) -> str:
    """The string content, or the text blocks joined by newlines; empty when there is neither."""
    content = message.content
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(block.text for block in content if isinstance(block, TextBlock))


def compact_json(value: Any) -> str:
    """JSON without spaces, letters as they are, in Python's spelling of numbers."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _pieces(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        text = message_text(message)
        if text:
            yield text
        for call in message.tool_calls:
            yield _call_text(call)


def _call_text(call: ToolCall) -> str:
    return f"{call.name} {compact_json(call.arguments)}"
