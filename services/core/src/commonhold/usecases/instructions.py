"""What a client's model is told when it connects (docs/reference/mcp.md, section 5).

Rendered anew each time, so that what was erased is gone from it at once. A store that
fails or hangs costs the blocks that need it, never the connection.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import structlog

from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.history.contexts import HistoryContext
from commonhold.usecases.history.left_off import read_left_off
from commonhold.usecases.history.pending_notes import announce_note
from commonhold.usecases.indexes import read_index
from commonhold.usecases.mounts import sessions_mount

logger = structlog.get_logger(__name__)

Variant: TypeAlias = Literal["full", "discipline"]
PAST_BUDGET = 8192
DEADLINE_SECONDS = 5.0
INDEX_UNAVAILABLE = "(The index is unavailable right now: view / to ask for it again.)"
PAST_UNAVAILABLE = "(What was left off is unavailable right now: search_history looks it up.)"

_GAP = "\n\n"
_WHAT_IT_IS = """\
You have a persistent memory: a directory of documents behind the `memory` tool, which outlives \
this session. The index below is its table of contents, frozen as it was when this session \
began. It holds names only: read a document with `view` when you need it."""
_DISCIPLINE = """\
Keep the memory worth reading:
- Look at the index before you create a document; update the one that is there rather than write \
a second one.
- Change documents with `str_replace`; rewrite one whole only when most of it changes.
- Correct or delete what proved wrong as soon as you notice.
- One topic a document, short, under a name that says what it holds.
- Never store a secret, nor anything the user asked you to forget."""
_ROUTING = """\
Put each thing where it belongs: what is true of the user into the user's mount, what is true of \
the project into the project's. Read-only mounts are for reference. Skills are documents under \
`skills/`: find them with `list_skills`, read one with `load_skill` before you do what it \
describes."""
_FOLDS = "A line of the index that ends in a count stands for a directory or mount: `view` it."
_HISTORY = """\
Earlier conversations are kept word for word:
- `search_history` finds turns by their words.
- `recall_turn` shows one turn whole; log lines carry its number in brackets.
- `continue_session` brings earlier work back; call it only when the user asks to go on with it.
- `handoff` leaves a note for the next session when work stops before it is done."""


async def render_instructions(
    memory: MemoryContext,
    history: HistoryContext | None = None,
    *,
    variant: Variant = "full",
    deadline_seconds: float = DEADLINE_SECONDS,
) -> str:
    """The instructions for one caller; `discipline` is for those that have the index already.

    Without `history` nothing is said of conversations.
    """
    if variant == "discipline":
        return _GAP.join([_DISCIPLINE, _ROUTING, *([_HISTORY] if history else [])])
    index = await _guarded(lambda: _read_index(memory), deadline_seconds)
    if index is None:
        return _GAP.join([_DISCIPLINE, _ROUTING, INDEX_UNAVAILABLE])
    blocks = [_WHAT_IT_IS, _DISCIPLINE, _ROUTING, _FOLDS, index]
    if history is not None:
        past = await _guarded(lambda: _read_past(history), deadline_seconds)
        blocks.append(PAST_UNAVAILABLE if past is None else past)
    return _GAP.join(filter(None, blocks))


async def _read_index(memory: MemoryContext) -> str:
    return await read_index(
        memory.documents,
        memory.mounts,
        budget=memory.index_budget,
        counts_mailboxes=memory.counts_mailboxes,
    )


async def _read_past(history: HistoryContext) -> str:
    """The note that waits, then where the work was left off, in the room the note leaves."""
    mount = sessions_mount(history.memory.mounts)
    if mount is None:
        return ""
    note = await announce_note(history, mount, budget=PAST_BUDGET)
    taken = len(note) + len(_GAP) if note else 0
    left_off = await read_left_off(history, mount, budget=PAST_BUDGET - taken)
    return _GAP.join(filter(None, [note, left_off]))


async def _guarded(read: Callable[[], Awaitable[str]], deadline_seconds: float) -> str | None:
    try:
        async with asyncio.timeout(deadline_seconds):
            return await read()
    except Exception as error:
        logger.warning("instructions_degraded", exc_info=error)
        return None
