"""Where the work was left off: the newest sessions in short (docs/reference/mcp.md, section 5)."""

from collections.abc import Sequence

import msgspec

from commonhold.usecases.history.clipping import name_line
from commonhold.usecases.history.contexts import HistoryContext
from commonhold.usecases.history.logs import read_log
from commonhold.usecases.history.sessions import list_sessions
from commonhold.usecases.mounts import Mount

SESSIONS = 3

_HEADER = (
    "Where we left off (read-only; the numbers in brackets are turns of the conversation that is "
    "named above them):"
)
_NONE = "(none recorded yet)"
_FOOTER = (
    'To see a turn whole, call recall_turn(n, conversation="<id>"); to find others, '
    "search_history. A [link <id>:N] stands for a long address: the turn itself has it whole."
)


class LeftOff(msgspec.Struct, frozen=True):
    """A session that has turns, and the line that names it."""

    conversation_id: str
    last_turn: int
    line: str


async def read_left_off(context: HistoryContext, mount: Mount, *, budget: int) -> str:
    """The newest sessions, newest first, each with an equal share of what the frame leaves.

    A share is at least 1, and a session is never without a line of its log; only then may
    the text pass the budget.
    """
    sessions = await list_sessions(context, mount)
    found = [await _read(context, one.conversation_id) for one in sessions[:SESSIONS]]
    shown = [one for one in found if one is not None]
    if not shown:
        return f"{_HEADER}\n{_NONE}\n{_FOOTER}"
    share = _share(shown, budget=budget)
    lines = [_HEADER]
    for one in shown:
        log = await read_log(
            context.conversations, one.conversation_id, through=one.last_turn, budget=share
        )
        lines += [one.line, *log]
    return "\n".join([*lines, _FOOTER])


async def _read(context: HistoryContext, conversation_id: str) -> LeftOff | None:
    last = await context.conversations.last_turn_number(conversation_id)
    if not last:
        return None
    turns = await context.conversations.read_turns(conversation_id, after=last - 1, limit=1)
    actor = turns[0].actor if turns else None
    line = f"Conversation {conversation_id}, last written by {name_line(actor)}:"
    return LeftOff(conversation_id, last, line)


def _share(shown: Sequence[LeftOff], *, budget: int) -> int:
    frame = [_HEADER, _FOOTER, *(one.line for one in shown)]
    left = budget - sum(len(line) + 1 for line in frame)
    return max(left // len(shown), 1)
