"""Requests as bytes, made before the clock runs."""

from collections.abc import Sequence
from typing import Any

import msgspec

TOKEN = "bench-token-of-no-value-elsewhere"

_encode = msgspec.json.Encoder().encode


def post(route: str, body: dict[str, Any]) -> bytes:
    """A POST of a wire route, such as `memory/read`."""
    content = _encode(body)
    head = (
        f"POST /v1/{route} HTTP/1.1\r\n"
        "host: 127.0.0.1\r\n"
        f"authorization: Bearer {TOKEN}\r\n"
        "content-type: application/json\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def write(scope: str, path: str, content: str) -> bytes:
    return post("memory/write", {"scope": scope, "path": path, "content": content})


def read(scope: str, path: str) -> bytes:
    return post("memory/read", {"scope": scope, "path": path})


def append(conversation_id: str, messages: Sequence[dict[str, str]]) -> bytes:
    return post(
        "conversation/append_turn",
        {"conversation_id": conversation_id, "messages": list(messages)},
    )


def search(query: str, *, limit: int = 50) -> bytes:
    return post("conversation/search_turns", {"query": query, "limit": limit})
