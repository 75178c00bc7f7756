"""`continue_session`: earlier work, to be carried on (docs/reference/mcp.md, 8.4 and 11.2)."""

from collections.abc import Sequence

from commonhold.contract.ids import check_conversation_id
from commonhold.contract.turns import ConversationTurn
from commonhold.usecases.envelopes import ToolResult, succeed
from commonhold.usecases.failures import CommandError, answer_failure
from commonhold.usecases.history.clipping import name_line
from commonhold.usecases.history.contexts import (
    HistoryContext,
    require_reach,
    require_sessions_mount,
)
from commonhold.usecases.history.links import LinkReader
from commonhold.usecases.history.logs import read_log
from commonhold.usecases.history.newest_turns import read_newest_turns
from commonhold.usecases.history.pending_notes import minute, render_note
from commonhold.usecases.history.pick_ups import Delivery, Request, delivery_of, take_up
from commonhold.usecases.history.sessions import read_lineage
from commonhold.usecases.mounts import Mount

TOOL = "continue_session"
BUDGET = 32_768

_NEWEST_SHARE = (3, 4)
_LINEAGE = 8
_FOOTER = (
    "[end of the conversation so far. Carry on from here as the same work: do not greet, do not "
    'start over. Lines above are cut short: recall_turn(n, conversation="{id}") shows turn n '
    "whole]"
)


async def continue_session(
    context: HistoryContext, *, conversation: str | None = None, session: str | None = None
) -> ToolResult:
    """Show the conversation to go on with; a pending note that goes with it is picked up."""
    try:
        return succeed(await _continue(context, Request(conversation, session)))
    except Exception as error:  # noqa: BLE001 - the outermost frame of a tool: all is answered
        return answer_failure(TOOL, error, changes=True)


async def _continue(context: HistoryContext, request: Request) -> str:
    if request.session is not None:
        check_conversation_id(request.session)
    mount = require_sessions_mount(context)
    delivery = _earlier_delivery(context) or await take_up(context, mount, request)
    return await render_delivery(context, mount, delivery)


def _earlier_delivery(context: HistoryContext) -> Delivery | None:
    """What the first run of this call chose, so that a repetition answers alike."""
    if context.earlier_pick_up is None:
        return None
    delivery = delivery_of(context.earlier_pick_up)
    if delivery is None:
        # Any other note is a later one, which this call has not marked and must not show.
        raise CommandError(
            "The handoff note of this call is redacted; its content was cleared",
            hint="Call again without the key, or with another, to continue what is there now.",
        )
    if delivery.conversation is not None:
        require_reach(context, delivery.conversation)
    return delivery


async def render_delivery(context: HistoryContext, mount: Mount, delivery: Delivery) -> str:
    """The conversation within the budget, which only the note and the last turn may pass."""
    note = [] if delivery.note is None else [render_note(delivery.note)]
    if delivery.conversation is None:
        return "\n".join(note)
    newest = await _newest_turn(context, delivery.conversation)
    head = [await _header(context, mount, newest), *note]
    return "\n".join([*head, *await _body(context, newest, spent=_length(head))])


async def _newest_turn(context: HistoryContext, conversation_id: str) -> ConversationTurn:
    last = await context.conversations.last_turn_number(conversation_id)
    turns = await context.conversations.read_turns(conversation_id, after=max(0, last - 1), limit=1)
    if not turns:
        raise CommandError(f"Conversation {conversation_id!r} has no turns")
    return turns[0]


async def _header(context: HistoryContext, mount: Mount, newest: ConversationTurn) -> str:
    conversation_id = newest.conversation_id
    oldest = (await context.conversations.read_turns(conversation_id, limit=1))[0]
    lineage = await read_lineage(context, mount, conversation_id)
    continues = f"; it continues {', '.join(lineage[:_LINEAGE])}" if lineage else ""
    return (
        f"[continuing conversation {conversation_id} of {name_line(newest.actor)}; "
        f"newest turn {newest.turn}; from {minute(oldest.created_at)} "
        f"to {minute(newest.created_at)}{continues}]"
    )


async def _body(context: HistoryContext, newest: ConversationTurn, *, spent: int) -> list[str]:
    conversations, conversation_id = context.conversations, newest.conversation_id
    links = LinkReader(conversations, conversation_id)
    footer = _FOOTER.format(id=conversation_id)
    part, whole = _NEWEST_SHARE
    first, blocks = await read_newest_turns(
        conversations, newest, room=BUDGET * part // whole, links=links
    )
    spent += _length([*blocks, footer])
    log = await read_log(
        conversations,
        conversation_id,
        through=first - 1,
        budget=max(BUDGET - spent, 1),
        link_reader=links,
    )
    return [*log, *blocks, footer]


def _length(lines: Sequence[str]) -> int:
    """With the newline behind each."""
    return sum(len(line) + 1 for line in lines)
