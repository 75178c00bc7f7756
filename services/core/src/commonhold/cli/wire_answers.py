"""Turns as commands of the shell read them; the other answers are in `commonhold.wire.answers`."""

from datetime import datetime
from typing import Any

import msgspec


class Turn(msgspec.Struct, frozen=True):
    """A turn with its messages as they came: this side only shows them."""

    turn: int
    messages: list[dict[str, Any]]
    created_at: datetime
    actor: str | None
    redacted: bool


class TurnAnswer(msgspec.Struct, frozen=True):
    turn: Turn


class TurnsAnswer(msgspec.Struct, frozen=True):
    turns: tuple[Turn, ...]
