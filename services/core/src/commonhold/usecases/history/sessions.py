"""The sessions that a caller can go on with (docs/reference/memory-tool.md, section 15)."""

import msgspec

from commonhold.contract.documents import MemoryEntry
from commonhold.contract.errors import ConversationIdInvalidError
from commonhold.contract.ids import check_conversation_id
from commonhold.usecases.history.contexts import HistoryContext
from commonhold.usecases.mounts import Mount
from commonhold.usecases.session_documents import SESSIONS_PREFIX, parse_session


class Session(msgspec.Struct, frozen=True):
    conversation_id: str
    entry: MemoryEntry


async def list_sessions(context: HistoryContext, mount: Mount) -> list[Session]:
    """The sessions within reach, by their newest change, of equal ones the last path first."""
    entries = await context.memory.documents.list_documents(mount.scope, prefix=SESSIONS_PREFIX)
    found = [
        Session(conversation_id, entry)
        for entry in entries
        if not entry.redacted
        and "/" not in (conversation_id := entry.path.removeprefix(SESSIONS_PREFIX))
        and context.reach.holds(conversation_id)
    ]
    return sorted(found, key=lambda one: (one.entry.updated_at, one.entry.path), reverse=True)


async def read_lineage(
    context: HistoryContext, mount: Mount, conversation_id: str
) -> tuple[str, ...]:
    """The conversations within reach that this one continues, as its session document says."""
    path = f"{SESSIONS_PREFIX}{conversation_id}"
    document = await context.memory.documents.read(mount.scope, path)
    if document is None:
        return ()
    named = dict.fromkeys(parse_session(document.content).continues)
    return tuple(one for one in named if is_conversation_id(one) and context.reach.holds(one))


def is_conversation_id(text: str) -> bool:
    try:
        check_conversation_id(text)
    except ConversationIdInvalidError:
        return False
    return True
