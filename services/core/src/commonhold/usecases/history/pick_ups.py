"""What a continuation goes on with, and the taking of the note (docs/reference/mcp.md, 8.4).

Of several callers that take one note, the store lets one mark it; the others still get
their answer, and see whose it is.
"""

import msgspec

from commonhold.contract.documents import MemoryDocument
from commonhold.contract.errors import MemoryConflictError
from commonhold.usecases.failures import CommandError
from commonhold.usecases.handoff_notes import HANDOFF_PATH, HandoffNote, PickUp, render_handoff
from commonhold.usecases.history.contexts import HistoryContext, require_reach
from commonhold.usecases.history.pending_notes import StoredNote, read_note, stored_note
from commonhold.usecases.history.sessions import list_sessions
from commonhold.usecases.mounts import Mount

_NAME_ONE = 'Name a conversation to continue: continue_session(conversation="<id>").'
_OTHER_LINK = (
    "The pending handoff note is linked to it; name another conversation to continue instead."
)


class Request(msgspec.Struct, frozen=True):
    """What the caller named: the conversation to go on with, and its own session."""

    conversation: str | None = None
    session: str | None = None


class Delivery(msgspec.Struct, frozen=True):
    """What the caller gets: a conversation, a note, or both."""

    conversation: str | None
    note: HandoffNote | None = None


def delivery_of(document: MemoryDocument) -> Delivery | None:
    """What the run that wrote this handoff document delivered; None when it is blank now."""
    stored = stored_note(document)
    if stored is None:
        return None
    picked_up = msgspec.structs.replace(stored.note, picked_up=None)
    return Delivery(stored.conversation, picked_up)


async def take_up(context: HistoryContext, mount: Mount, request: Request) -> Delivery:
    """Choose what to go on with; a pending note that comes along is marked picked up.

    Raises CommandError when there is nothing to continue, and MemoryConflictError when
    the note changed twice meanwhile.
    """
    stored = await read_note(context, mount)
    delivery = await _choose(context, mount, request, stored)
    if stored is None or delivery.note is None:
        return delivery
    try:
        return await _mark(context, mount, stored, delivery)
    except MemoryConflictError:
        return await _take_up_again(context, mount, request, seen=delivery)


async def _take_up_again(
    context: HistoryContext, mount: Mount, request: Request, *, seen: Delivery
) -> Delivery:
    """After somebody was faster: with the note as it is now, once."""
    fresh = await read_note(context, mount)
    if fresh is not None and fresh.is_pending:
        delivery = await _choose(context, mount, request, fresh)
        if delivery.note is None:
            return delivery
        return await _mark(context, mount, fresh, delivery)
    if fresh is not None and _is_same(fresh.note, seen.note):
        return Delivery(seen.conversation, fresh.note)
    if seen.conversation is None:
        raise _nothing()
    return Delivery(seen.conversation)


async def _choose(
    context: HistoryContext, mount: Mount, request: Request, stored: StoredNote | None
) -> Delivery:
    pending = stored if stored is not None and stored.is_pending else None
    conversation = await _target(context, mount, request, pending)
    if conversation is None:
        if pending is None:
            raise _nothing()
        return Delivery(None, pending.note)
    if not await context.conversations.last_turn_number(conversation):
        raise CommandError(f"Conversation {conversation!r} has no turns", hint=_NAME_ONE)
    if pending is None or not _comes_along(pending, conversation, request):
        return Delivery(conversation)
    return Delivery(conversation, pending.note)


async def _target(
    context: HistoryContext, mount: Mount, request: Request, pending: StoredNote | None
) -> str | None:
    if request.conversation is not None:
        return require_reach(context, request.conversation)
    if pending is not None and pending.conversation is not None:
        return require_reach(context, pending.conversation, hint=_OTHER_LINK)
    sessions = await list_sessions(context, mount)
    others = (one.conversation_id for one in sessions if one.conversation_id != request.session)
    return next(others, None)


def _comes_along(pending: StoredNote, conversation: str, request: Request) -> bool:
    """An unlinked note goes with what was chosen, not with what was asked for by name."""
    if pending.conversation is None:
        return request.conversation is None
    return pending.conversation == conversation


async def _mark(
    context: HistoryContext, mount: Mount, stored: StoredNote, delivery: Delivery
) -> Delivery:
    marked = msgspec.structs.replace(
        stored.note,
        picked_up=PickUp(context.now(), context.actor),
        conversation=delivery.conversation,
    )
    await context.memory.documents.write(
        mount.scope,
        HANDOFF_PATH,
        render_handoff(marked),
        actor=context.memory.actor,
        expected_version=stored.version,
    )
    return delivery


def _is_same(one: HandoffNote, other: HandoffNote | None) -> bool:
    return other is not None and (one.actor, one.written, one.note) == (
        other.actor,
        other.written,
        other.note,
    )


def _nothing() -> CommandError:
    return CommandError("Nothing to continue: no session is listed in this scope", hint=_NAME_ONE)
