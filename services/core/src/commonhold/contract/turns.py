"""Records of the conversation seam (docs/reference/stores.md, section 2)."""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from commonhold.contract.messages import Message

ProjectionKind: TypeAlias = Literal["log", "digest", "epoch"]
PROJECTION_KINDS: tuple[ProjectionKind, ...] = ("digest", "epoch", "log")

CONVERSATION_FORMAT = 1
DEFAULT_SEARCH_LIMIT = 50
DEFAULT_TRAIL_LIMIT = 50
TRAIL_BOUND = 500
SEARCH_BOUND = 500


class ConversationTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded turn; `redacted` exactly when `messages` is empty."""

    conversation_id: str
    turn: int
    messages: tuple[Message, ...]
    created_at: datetime
    actor: str | None = None
    redacted: bool = False


class ConversationProjection(msgspec.Struct, frozen=True, kw_only=True):
    """Derived text over the turns `turn - span + 1 ... turn`.

    Raises ValueError when the numbers or the kind are not those of
    docs/reference/stores.md, section 2.
    """

    turn: int
    kind: ProjectionKind
    text: str
    span: int = 1

    def __post_init__(self) -> None:
        if self.turn < 1:
            raise ValueError(f"turn must be >= 1, got {self.turn}")
        if not 1 <= self.span <= self.turn:
            raise ValueError(
                f"span must satisfy 1 <= span <= turn, got span={self.span} for turn={self.turn}"
            )
        if self.kind not in PROJECTION_KINDS:
            raise ValueError(f"kind must be one of {list(PROJECTION_KINDS)}, got {self.kind!r}")


class ConversationRedaction(msgspec.Struct, frozen=True, kw_only=True):
    """One erasure of turns, ascending."""

    conversation_id: str
    turns: tuple[int, ...]
    actor: str | None
    created_at: datetime

    @property
    def count(self) -> int:
        return len(self.turns)


class ConversationArchive(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation whole: turns ascending, projections in read order, redactions oldest first."""

    conversation_id: str
    turns: tuple[ConversationTurn, ...] = ()
    projections: tuple[ConversationProjection, ...] = ()
    redactions: tuple[ConversationRedaction, ...] = ()


def is_any_in(numbers: Sequence[int], covered: range) -> bool:
    """Whether one of some numbers in ascending order is covered, however many that are."""
    place = bisect_left(numbers, covered.start)
    return place < len(numbers) and numbers[place] < covered.stop
