"""Turns as one line each, within a budget (docs/reference/mcp.md, section 11.3)."""

from collections.abc import Iterator, Sequence

import msgspec

from commonhold.contract.messages import Message
from commonhold.contract.search import message_text
from commonhold.contract.turns import ConversationProjection, ConversationTurn
from commonhold.usecases.history.clipping import collapse, one_line
from commonhold.usecases.history.links import Links
from commonhold.usecases.history.tool_segments import tool_segment
from commonhold.usecases.history.turn_parts import AnsweredCall, answered_calls, shown

FIRST_TURN = 1
PROSE = 200
_PROMPT = 800


class LogLine(msgspec.Struct, frozen=True):
    """A line, and the turns that it stands for."""

    first: int
    last: int
    text: str


def turn_line(turn: ConversationTurn, links: Links) -> LogLine:
    if turn.redacted:
        return LogLine(turn.turn, turn.turn, f"[{turn.turn}] [redacted]")
    body = " | ".join(_segments(turn, links))
    return LogLine(turn.turn, turn.turn, f"[{turn.turn}] {body}".rstrip())


def projection_line(entry: ConversationProjection, *, first: int, last: int) -> LogLine:
    """The line of an entry that is shown for the turns from `first` to `last`.

    It names the turns that the entry covers, and stays one line whatever its text holds.
    """
    covered = f"{entry.turn - entry.span + 1}-{entry.turn}" if entry.span > 1 else f"{entry.turn}"
    return LogLine(first, last, f"[{covered}] {collapse(entry.text)}".rstrip())


def covering_entries(
    entries: Sequence[ConversationProjection], *, first: int, last: int
) -> dict[int, ConversationProjection]:
    """The entry that stands for each turn: the one of the widest span, of equals the later."""
    winners: dict[int, ConversationProjection] = {}
    for entry in sorted(entries, key=lambda entry: entry.span):
        start = max(first, entry.turn - entry.span + 1)
        for turn in range(start, min(last, entry.turn) + 1):
            winners[turn] = entry
    return winners


def fit_log(newest_first: Sequence[LogLine], *, through: int, budget: int) -> list[str]:
    """The newest lines that fit, oldest first, behind a fold line for the turns they hide.

    Each takes its length and one more. Only the fold line may be longer than the budget.
    `through` is the last turn that the log is about.
    """
    kept = _newest_that_fit(newest_first, budget=budget)
    left = budget - sum(_cost(line.text) for line in kept)
    fold = _fold(kept, through=through)
    while kept and _cost(fold) > left and fold:
        left += _cost(kept.pop().text)
        fold = _fold(kept, through=through)
    return ([fold] if fold else []) + [line.text for line in reversed(kept)]


def _newest_that_fit(newest_first: Sequence[LogLine], *, budget: int) -> list[LogLine]:
    kept: list[LogLine] = []
    for line in newest_first:
        budget -= _cost(line.text)
        if budget < 0:
            break
        kept.append(line)
    return kept


def _fold(kept: Sequence[LogLine], *, through: int) -> str:
    hidden = kept[-1].first - 1 if kept else through
    if hidden < FIRST_TURN:
        return ""
    turns = "turn" if hidden == FIRST_TURN else "turns"
    return f"[{FIRST_TURN}-{hidden}] ({hidden} older {turns})"


def _cost(line: str) -> int:
    return len(line) + 1


def _segments(turn: ConversationTurn, links: Links) -> Iterator[str]:
    marker = f" \N{HORIZONTAL ELLIPSIS} [recall_turn({turn.turn})]"
    calls = iter(answered_calls(turn.messages))
    for message in shown(turn.messages):
        text = message_text(message)
        if message.role == "user":
            yield f"USER: {one_line(text, _PROMPT, marker=marker, links=links)}"
        elif message.role == "assistant" and text.strip():
            yield f"AGENT: {one_line(text, PROSE, links=links)}"
        yield from (tool_segment(answered, links) for answered in calls_of(message, calls))


def calls_of(message: Message, calls: Iterator[AnsweredCall]) -> Iterator[AnsweredCall]:
    """The next answered calls of the turn, as many as the message made."""
    return (next(calls) for _ in message.tool_calls)
