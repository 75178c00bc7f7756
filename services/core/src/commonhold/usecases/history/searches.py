"""`search_history`: turns by their words (docs/reference/mcp.md, section 8.3)."""

import asyncio

from commonhold.contract.clock import format_timestamp
from commonhold.contract.search import query_terms, turn_text
from commonhold.contract.turns import ConversationTurn
from commonhold.usecases.arguments import require_sound
from commonhold.usecases.envelopes import ToolResult, succeed
from commonhold.usecases.failures import CommandError, answer_failure
from commonhold.usecases.history.clipping import name_line
from commonhold.usecases.history.contexts import HistoryContext, require_reach
from commonhold.usecases.history.snippets import snippet

TOOL = "search_history"
DEFAULT_LIMIT = 10
MOST_TURNS = 50


async def search_history(
    context: HistoryContext,
    *,
    query: str,
    conversation: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> ToolResult:
    """Show where every term occurs, newest first, within the caller's reach."""
    try:
        return succeed(await _search(context, query, conversation=conversation, limit=limit))
    except Exception as error:  # noqa: BLE001 - the outermost frame of a tool: all is answered
        return answer_failure(TOOL, error, changes=False)


async def _search(
    context: HistoryContext, query: str, *, conversation: str | None, limit: int
) -> str:
    if not query.strip():
        raise CommandError(
            "Give at least one search term",
            hint="Words, parts of words, names of tools and of files all work.",
        )
    require_sound("query", query, tool=TOOL)
    if conversation is not None:
        require_reach(context, conversation)
    if limit < 1:
        raise CommandError(f"limit must be at least 1; got {limit}")
    limit = min(limit, MOST_TURNS)
    terms = query_terms(query)
    turns = await _find(context, query, conversation=conversation, limit=limit)
    if not turns:
        asked = ", ".join(map(repr, terms))
        return f"No turn matches every term: {asked}. Try fewer or different terms."
    footer = f'[newest first, at most {limit}; open a hit with recall_turn(n, conversation="<id>")]'
    blocks: list[str] = []
    for turn in turns:
        blocks.append(_block(turn, terms))
        # A turn may be megabytes: others are answered before the next one is looked through.
        await asyncio.sleep(0)
    return "\n".join([*blocks, footer])


async def _find(
    context: HistoryContext, query: str, *, conversation: str | None, limit: int
) -> tuple[ConversationTurn, ...]:
    prefixes = context.reach.prefixes
    try:
        if conversation is not None:
            return await context.conversations.search_turns(
                query, conversations=(conversation,), limit=limit
            )
        if prefixes is None:
            return await context.conversations.search_turns(query, limit=limit)
        return await context.conversations.search_turns_within(
            query, prefixes=prefixes, limit=limit
        )
    except ValueError as error:
        # All else is checked by now: the store says that the hits are too heavy to be sent.
        raise CommandError(str(error), hint="Lower the limit, or name a conversation.") from error


def _block(turn: ConversationTurn, terms: tuple[str, ...]) -> str:
    stamp = format_timestamp(turn.created_at)
    shown = snippet(turn_text(turn.messages), terms)
    return f"[{turn.conversation_id} #{turn.turn}] {stamp} {name_line(turn.actor)}\n  {shown}"
