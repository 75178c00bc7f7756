"""The handoff note of a scope: where it is, and how it is announced (docs/reference/mcp.md, 5)."""

from datetime import datetime, timedelta

import msgspec

from commonhold.contract.documents import MemoryDocument
from commonhold.usecases.handoff_notes import HANDOFF_PATH, HandoffNote, parse_handoff
from commonhold.usecases.history.clipping import name_line
from commonhold.usecases.history.contexts import HistoryContext
from commonhold.usecases.history.sessions import is_conversation_id
from commonhold.usecases.mounts import Mount
from commonhold.usecases.virtual_paths import virtual_path

NOTE_END = "[end of the handoff note]"

_FRESH = timedelta(days=7)


class StoredNote(msgspec.Struct, frozen=True):
    """A note, and the version of the document that holds it."""

    note: HandoffNote
    version: int

    @property
    def is_pending(self) -> bool:
        return self.note.picked_up is None

    @property
    def conversation(self) -> str | None:
        """The conversation it is linked to; a link that names none is as good as absent."""
        linked = self.note.conversation
        return linked if linked is not None and is_conversation_id(linked) else None


async def read_note(context: HistoryContext, mount: Mount) -> StoredNote | None:
    document = await context.memory.documents.read(mount.scope, HANDOFF_PATH)
    return None if document is None else stored_note(document)


def stored_note(document: MemoryDocument) -> StoredNote | None:
    note = parse_handoff(document.content)
    return None if note is None else StoredNote(note, document.version)


def minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def note_header(note: HandoffNote, *, addition: str = "") -> str:
    return f"[handoff note from {name_line(note.actor)}, written {minute(note.written)}{addition}]"


def render_note(note: HandoffNote) -> str:
    """The note in its frame, as it is delivered; it says so when somebody had it before."""
    taken = note.picked_up
    addition = ""
    if taken is not None:
        addition = f"; picked up by {name_line(taken.actor)} at {minute(taken.at)}"
    return f"{note_header(note, addition=addition)}\n{note.note}\n{NOTE_END}"


async def announce_note(context: HistoryContext, mount: Mount, *, budget: int) -> str:
    """What instructions say of a note that waits; empty when none does.

    A recent one is shown whole when there is room; of any other, one line.
    """
    stored = await read_note(context, mount)
    if stored is None or not stored.is_pending:
        return ""
    note = stored.note
    where = virtual_path(mount, HANDOFF_PATH)
    if stored.conversation is not None and not context.reach.holds(stored.conversation):
        return note_header(note, addition=f"; its conversation is out of reach; see {where}")
    call = _pick_up_call(stored.conversation)
    if context.now() - note.written < _FRESH:
        header = note_header(note, addition=f"; to pick it up, call {call}")
        whole = f"{header}\n{note.note}\n{NOTE_END}"
        if len(whole) <= budget:
            return whole
    return note_header(note, addition=f"; to pick it up, call {call}; it is at {where}")


def _pick_up_call(conversation_id: str | None) -> str:
    if conversation_id is None:
        return "continue_session()"
    return f'continue_session(conversation="{conversation_id}")'
