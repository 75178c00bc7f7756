"""The newest turns of a conversation at length (docs/reference/mcp.md, section 11.2)."""

from collections.abc import Iterator, Sequence

from commonhold.contract.messages import Message
from commonhold.contract.search import message_text
from commonhold.contract.stores import ConversationReader
from commonhold.contract.turns import ConversationTurn
from commonhold.usecases.history.clipping import one_line
from commonhold.usecases.history.links import LinkReader, Links
from commonhold.usecases.history.log_lines import FIRST_TURN, PROSE, calls_of
from commonhold.usecases.history.tool_segments import tool_segment
from commonhold.usecases.history.turn_parts import answered_calls, shown
from commonhold.usecases.history.windows import FIRST_WINDOW, next_window


async def read_newest_turns(
    conversations: ConversationReader, newest: ConversationTurn, *, room: int, links: LinkReader
) -> tuple[int, list[str]]:
    """The number of the oldest turn shown, and the blocks from it on.

    The newest is always shown; those before it while all of them stay in the room.
    """
    blocks = [turn_block(newest, await links.links_for([newest]))]
    first, left, window = newest.turn, room - len(blocks[0]), FIRST_WINDOW
    while first > FIRST_TURN and left > 0:
        after = max(0, first - 1 - window)
        turns = await conversations.read_turns(
            newest.conversation_id, after=after, limit=first - 1 - after
        )
        older = [turn for turn in turns if turn.turn < first]
        known = await links.links_for(older)
        for turn in reversed(older):
            block = turn_block(turn, known)
            left -= len(block)
            if left < 0:
                return first, blocks[::-1]
            blocks.append(block)
            first = turn.turn
        first, window = min(first, after + 1), next_window(window, turns)
    return first, blocks[::-1]


def turn_block(turn: ConversationTurn, links: Links) -> str:
    """What the user said and the last answer whole; earlier prose and calls in short."""
    if turn.redacted:
        return f"[{turn.turn}] [redacted]"
    lines = list(_lines(turn, links))
    number = f"[{turn.turn}]"
    if not lines or not lines[0].startswith(f"{number} USER: "):
        lines[:1] = [f"{number} {lines[0]}" if lines else number]
    return "\n".join(lines)


def _lines(turn: ConversationTurn, links: Links) -> Iterator[str]:
    calls = iter(answered_calls(turn.messages))
    last = _last_prose(turn.messages)
    for message in shown(turn.messages):
        text = message_text(message)
        if message.role == "user":
            yield f"[{turn.turn}] USER: {text}"
        elif message is last:
            yield f"AGENT: {text.strip()}"
        elif message.role == "assistant" and text.strip():
            yield f"AGENT: {one_line(text, PROSE, links=links)}"
        yield from (tool_segment(answered, links) for answered in calls_of(message, calls))


def _last_prose(messages: Sequence[Message]) -> Message | None:
    return next(
        (
            message
            for message in reversed(messages)
            if message.role == "assistant" and message_text(message).strip()
        ),
        None,
    )
