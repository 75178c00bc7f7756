"""`insert`: text after a line (docs/reference/memory-tool.md, section 6.4)."""

from commonhold.usecases.commands.edits import read_for_edit, write_edit
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.envelopes import ToolResult
from commonhold.usecases.failures import CommandError
from commonhold.usecases.virtual_paths import require_writable, resolve_document


async def insert(
    context: MemoryContext, *, path: str, insert_line: int, insert_text: str
) -> ToolResult:
    """Insert after line `insert_line`, 0 for the top, as one element of the list of lines.

    So a text that ends in a line break brings an empty line along, and the empty line
    after the last break of the content counts as one.
    """
    place = resolve_document(context.mounts, path)
    require_writable(place)
    document = await read_for_edit(context, place)
    lines = document.content.split("\n")
    if not 0 <= insert_line <= len(lines):
        raise CommandError(
            f"insert_line {insert_line} is out of range for {place} (valid: 0 to {len(lines)})",
            hint="View the document and count its lines.",
        )
    lines.insert(insert_line, insert_text)
    return await write_edit(
        context, place, command="insert", content="\n".join(lines), read=document
    )
