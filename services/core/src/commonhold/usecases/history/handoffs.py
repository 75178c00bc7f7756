"""`handoff`: leave a note for whoever goes on (docs/reference/mcp.md, section 8.5)."""

from commonhold.usecases.arguments import require_sound
from commonhold.usecases.envelopes import ToolResult, succeed
from commonhold.usecases.failures import CommandError, answer_failure
from commonhold.usecases.handoff_notes import HANDOFF_PATH, HandoffNote, render_handoff
from commonhold.usecases.history.contexts import HistoryContext, require_sessions_mount
from commonhold.usecases.virtual_paths import virtual_path

TOOL = "handoff"
MOST_CHARACTERS = 2048

_WHAT_IT_HOLDS = (
    "A good note holds the aim, what is done and where, what was tried in vain, the next step, "
    "and what waits for an answer."
)


async def handoff(context: HistoryContext, *, note: str) -> ToolResult:
    """Record the note, in the place of any earlier one, whose versions keep it."""
    try:
        return succeed(await _record(context, note))
    except Exception as error:  # noqa: BLE001 - the outermost frame of a tool: all is answered
        return answer_failure(TOOL, error, changes=True)


async def _record(context: HistoryContext, text: str) -> str:
    if not text.strip():
        raise CommandError("Write the note first", hint=_WHAT_IT_HOLDS)
    if len(text) > MOST_CHARACTERS:
        raise CommandError(
            f"The note is {len(text)} characters; keep it under {MOST_CHARACTERS}",
            hint=_WHAT_IT_HOLDS,
        )
    require_sound("note", text, tool=TOOL)
    mount = require_sessions_mount(context)
    note = HandoffNote(actor=context.actor, written=context.now(), note=text)
    written = await context.memory.documents.write(
        mount.scope, HANDOFF_PATH, render_handoff(note), actor=context.memory.actor
    )
    return (
        f"[handoff note recorded at {virtual_path(mount, HANDOFF_PATH)} (v{written.version}); "
        "the next session picks it up with continue_session()]"
    )
