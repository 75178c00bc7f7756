"""Reading whole scopes and conversations over the wire, page by page."""

from collections.abc import Sequence
from typing import Any

import msgspec

from commonhold.contract.documents import (
    MemoryDocument,
    MemoryRedaction,
    MemoryVersion,
    ScopeArchive,
)
from tests.support.histories.conversations import ConversationState
from tests.support.histories.records import Answered
from tests.support.load.clients import Client


async def read_scope(client: Client, scope: str) -> ScopeArchive:
    entries = await _pages(client, "memory/list_documents", {"scope": scope}, "entries")
    documents = [
        (await ask(client, "memory/read", {"scope": scope, "path": entry["path"]}))["document"]
        for entry in entries
    ]
    versions = await _pages(client, "memory/history", {"scope": scope}, "versions")
    redactions = await _pages(client, "memory/redactions", {"scope": scope}, "redactions")
    return ScopeArchive(
        scope=scope,
        documents=msgspec.convert(documents, tuple[MemoryDocument, ...]),
        versions=msgspec.convert(versions, tuple[MemoryVersion, ...]),
        redactions=msgspec.convert(redactions, tuple[MemoryRedaction, ...]),
    )


async def read_conversation(client: Client, conversation: str) -> ConversationState:
    request = {"conversation_id": conversation}
    trail = {"conversations": [conversation], "limit": 500}
    return ConversationState(
        conversation_id=conversation,
        turns=await _follow(client, "conversation/read_turns", request, "turns"),
        projections=await _follow(client, "conversation/read_projections", request, "entries"),
        redactions=(await ask(client, "conversation/turn_redactions", trail))["redactions"],
    )


async def ask(client: Client, route: str, request: dict[str, Any]) -> dict[str, Any]:
    attempt = await client.insist(route, request)
    if not isinstance(attempt.outcome, Answered):
        raise AssertionError(f"not answered: {attempt}")
    return attempt.outcome.answer


async def _pages(
    client: Client, route: str, request: dict[str, Any], key: str
) -> Sequence[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = await ask(client, route, {**request, "cursor": cursor})
        rows += page[key]
        cursor = page["next_cursor"]
        if cursor is None:
            return rows


async def _follow(
    client: Client, route: str, request: dict[str, Any], key: str
) -> Sequence[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    after = 0
    while True:
        page = await ask(client, route, {**request, "after": after})
        rows += page[key]
        if page["next_after"] is None:
            return rows
        after = page["next_after"]
