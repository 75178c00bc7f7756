"""The log of a conversation, read from its newest turn backwards (docs/reference/mcp.md, 11.3).

Windows of turns are read until the budget is spent, and nothing behind that.
"""

from collections.abc import Iterator, Mapping, Sequence

from commonhold.contract.stores import ConversationReader
from commonhold.contract.turns import ConversationProjection, ConversationTurn
from commonhold.usecases.history.links import LinkReader, Links
from commonhold.usecases.history.log_lines import (
    FIRST_TURN,
    LogLine,
    covering_entries,
    fit_log,
    projection_line,
    turn_line,
)
from commonhold.usecases.history.windows import FIRST_WINDOW, next_window

# Turns before these are folded, whatever room there is.
LOGGED_TURNS = 500


async def read_log(
    conversations: ConversationReader,
    conversation_id: str,
    *,
    through: int,
    budget: int,
    link_reader: LinkReader | None = None,
) -> list[str]:
    """The lines of the turns up to `through`, within the budget, oldest first."""
    if through < FIRST_TURN:
        return []
    floor = max(FIRST_TURN, through - LOGGED_TURNS + 1)
    entries = await conversations.read_projections(conversation_id, after=floor - 1)
    winners = covering_entries(entries, first=floor, last=through)
    reader = link_reader or LinkReader(conversations, conversation_id)
    lines: list[LogLine] = []
    used, last, window = 0, through, FIRST_WINDOW
    while last >= floor and used <= budget:
        first = max(floor, last - window + 1)
        first = _whole_run(winners, first, floor=floor)
        bare = [turn for turn in range(first, last + 1) if turn not in winners]
        turns = await _read(conversations, conversation_id, bare[0], bare[-1]) if bare else ()
        links = await reader.links_for(turns)
        found = list(_lines(winners, turns, links=links, first=first, last=last))
        lines += found
        used += sum(len(line.text) + 1 for line in found)
        last, window = first - 1, next_window(window, turns)
    return fit_log(lines, through=through, budget=budget)


async def _read(
    conversations: ConversationReader, conversation_id: str, first: int, last: int
) -> tuple[ConversationTurn, ...]:
    turns = await conversations.read_turns(conversation_id, after=first - 1, limit=last - first + 1)
    return tuple(turn for turn in turns if turn.turn <= last)


def _whole_run(winners: Mapping[int, ConversationProjection], first: int, *, floor: int) -> int:
    """`first`, or the start of the run of one entry that it is inside of."""
    entry = winners.get(first)
    while entry is not None and first > floor and winners.get(first - 1) is entry:
        first -= 1
    return first


def _lines(
    winners: Mapping[int, ConversationProjection],
    turns: Sequence[ConversationTurn],
    *,
    links: Links,
    first: int,
    last: int,
) -> Iterator[LogLine]:
    """The lines of a window, newest first; turns under one entry share its line."""
    by_number = {turn.turn: turn for turn in turns}
    while last >= first:
        entry = winners.get(last)
        if entry is not None:
            start = _whole_run(winners, last, floor=first)
            yield projection_line(entry, first=start, last=last)
            last = start
        elif last in by_number:
            yield turn_line(by_number[last], links)
        last -= 1
