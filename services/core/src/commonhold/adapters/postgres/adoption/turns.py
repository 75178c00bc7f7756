"""A turn of the old tables as the row that lands.

Searchable text is rendered again, as every restore does: the old one may be missing, and
is of the order of keys that `jsonb` has lost.
"""

import json
from collections.abc import Iterable
from datetime import datetime
from operator import attrgetter
from typing import Any

import asyncpg
import msgspec

from commonhold.adapters.postgres.adoption.reports import OddRow, Verdict
from commonhold.adapters.postgres.adoption.units import MISSED, format_reason
from commonhold.contract.messages import Message, decode_messages, encode_messages
from commonhold.contract.search import fold, turn_text
from commonhold.contract.turns import CONVERSATION_FORMAT

_NOTHING = "[]"


class TurnRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `turns`."""

    conversation_id: str
    turn: int
    messages: str
    created_at: datetime
    actor: str | None
    search_text: str
    redacted: bool
    format: int


class UnfitTurnError(ValueError):
    """The turn cannot land; the message says why."""


def landed(row: asyncpg.Record) -> TurnRow:
    """Raises UnfitTurnError."""
    if row["turn"] < 1:
        raise UnfitTurnError("its number is below 1")
    if row["created_at"] is None:
        raise UnfitTurnError("its time is out of range")
    messages, search_text = _texts(row)
    return TurnRow(
        conversation_id=row["conversation_id"],
        turn=row["turn"],
        messages=messages,
        created_at=row["created_at"],
        actor=row["actor"],
        search_text=search_text,
        redacted=row["redacted"],
        format=row["format"],
    )


def oddity(row: asyncpg.Record) -> OddRow | None:
    """What the report says of a turn that lands."""
    if row["redacted"] and (row["messages"] != _NOTHING or row["search_text"]):
        return odd_turn(row, verdict="blanked", reason=MISSED)
    if row["format"] != CONVERSATION_FORMAT:
        reason = format_reason(row["format"], kind="conversation")
        return odd_turn(row, verdict="kept unread", reason=reason)
    return None


def odd_turn(row: asyncpg.Record, *, verdict: Verdict, reason: str) -> OddRow:
    return OddRow(
        verdict=verdict,
        kind="conversation",
        unit=row["conversation_id"],
        name=f"turn {row['turn']}",
        reason=reason,
    )


def columns(rows: Iterable[TurnRow]) -> list[list[Any]]:
    """The rows as one array a column, for unnest."""
    rows = tuple(rows)
    return [list(map(attrgetter(name), rows)) for name in TurnRow.__struct_fields__]


def _texts(row: asyncpg.Record) -> tuple[str, str]:
    """Messages and searchable text as they are stored."""
    if row["redacted"]:
        return _NOTHING, ""
    if row["format"] != CONVERSATION_FORMAT:
        # Nothing of it can be told but that it is JSON.
        return row["messages"], fold(row["search_text"] or "")
    try:
        messages = _messages(json.loads(row["messages"]))
        return encode_messages(messages).decode(), fold(turn_text(messages))
    except (ValueError, RecursionError) as error:
        raise UnfitTurnError(str(error) or type(error).__name__) from error


def _messages(stored: Any) -> tuple[Message, ...]:
    if not isinstance(stored, list) or not all(isinstance(item, dict) for item in stored):
        raise UnfitTurnError("its messages are not an array of objects")
    if not stored:
        raise UnfitTurnError("it carries no message, and is not redacted")
    return decode_messages(stored)
