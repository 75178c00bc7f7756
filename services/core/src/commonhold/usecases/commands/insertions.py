"""`insert`: text after a line (docs/reference/memory-tool.md, section 6.4)."""

from commonhold.usecases.commands.edits import read_for_edit, write_edit
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.envelopes import ToolResult
from commonhold.usecases.failures import CommandError
from commonhold.usecases.text_lines import count_lines, line_start
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
    count = count_lines(document.content)
    if not 0 <= insert_line <= count:
        raise CommandError(
            f"insert_line {insert_line} is out of range for {place} (valid: 0 to {count})",
            hint="View the document and count its lines.",
        )
    content = _with_line(document.content, insert_line, insert_text, count=count)
    return await write_edit(context, place, command="insert", content=content, read=document)


def _with_line(content: str, after: int, text: str, *, count: int) -> str:
    if after == count:
        return f"{content}\n{text}"
    at = line_start(content, after + 1)
    return f"{content[:at]}{text}\n{content[at:]}"
