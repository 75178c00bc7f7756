"""`recall_turn`: one turn as it was said (docs/reference/mcp.md, section 8.2)."""

from commonhold.contract.ids import MAX_NUMBER
from commonhold.contract.turns import ConversationTurn
from commonhold.usecases.envelopes import ToolResult, succeed
from commonhold.usecases.failures import CommandError, answer_failure
from commonhold.usecases.history.contexts import HistoryContext, require_reach
from commonhold.usecases.history.log_lines import FIRST_TURN
from commonhold.usecases.history.turn_parts import answered_calls
from commonhold.usecases.history.verbatim import redacted_turn, render_call, render_turn

TOOL = "recall_turn"

_NUMBERS = "Take the number from the brackets at the head of a log line, as in [7]."


async def recall_turn(
    context: HistoryContext, *, turn: int, conversation: str, call: str | None = None
) -> ToolResult:
    """Show a turn, or with `call` one of its calls with the whole result."""
    try:
        found = await _find(context, conversation, turn)
        return succeed(_render(found, call))
    except Exception as error:  # noqa: BLE001 - the outermost frame of a tool: all is answered
        return answer_failure(TOOL, error, changes=False)


async def _find(context: HistoryContext, conversation: str, number: int) -> ConversationTurn:
    if number < FIRST_TURN:
        raise CommandError(f"Turn numbers start at 1; got {number}", hint=_NUMBERS)
    require_reach(context, conversation)
    if number <= MAX_NUMBER:
        turns = await context.conversations.read_turns(conversation, after=number - 1, limit=1)
        if turns and turns[0].turn == number:
            return turns[0]
    last = await context.conversations.last_turn_number(conversation)
    held = f"turns 1-{last}" if last else "no turns"
    raise CommandError(
        f"Turn {number} does not exist", hint=f"Conversation {conversation!r} has {held}."
    )


def _render(turn: ConversationTurn, call: str | None) -> str:
    if turn.redacted:
        return redacted_turn(turn)
    if call is None:
        return render_turn(turn)
    text = render_call(turn, call)
    if text is None:
        made = dict.fromkeys(answered.call.id for answered in answered_calls(turn.messages))
        calls = ", ".join(made) or "none"
        raise CommandError(f"Turn {turn.turn} made no call {call!r}", hint=f"Its calls: {calls}.")
    return text
