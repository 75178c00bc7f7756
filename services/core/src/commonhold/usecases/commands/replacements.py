"""`str_replace`: one exact text for another (docs/reference/memory-tool.md, section 6.3)."""

from collections.abc import Iterator

from commonhold.usecases.commands.edits import read_for_edit, write_edit
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.envelopes import ToolResult
from commonhold.usecases.failures import CommandError
from commonhold.usecases.virtual_paths import Place, require_writable, resolve_document


async def str_replace(
    context: MemoryContext, *, path: str, old_str: str, new_str: str
) -> ToolResult:
    """Replace the one place where `old_str` stands; none or several are refused."""
    place = resolve_document(context.mounts, path)
    require_writable(place)
    if not old_str:
        raise CommandError("old_str must not be empty", hint="Name the exact text to replace.")
    document = await read_for_edit(context, place)
    start = _only_match(document.content, old_str, place=place)
    content = document.content[:start] + new_str + document.content[start + len(old_str) :]
    return await write_edit(context, place, command="str_replace", content=content, read=document)


def _only_match(content: str, sought: str, *, place: Place) -> int:
    first = content.find(sought)
    if first < 0:
        raise CommandError(
            f"old_str did not appear verbatim in {place}",
            hint="View the document and copy the exact text.",
        )
    if content.find(sought, first + 1) < 0:
        return first
    lines = list(_lines_of(content, _match_starts(content, sought)))
    listed = ", ".join(map(str, lines))
    raise CommandError(
        f"old_str appears {len(lines)} times in {place} (lines {listed})",
        hint="Include more of the surrounding text, so that it appears once.",
    )


def _lines_of(content: str, starts: Iterator[int]) -> Iterator[int]:
    line, counted = 1, 0
    for start in starts:
        line += content.count("\n", counted, start)
        counted = start
        yield line


def _match_starts(content: str, sought: str) -> Iterator[int]:
    """Every start, overlaps included, in time linear in both texts (Knuth, Morris, Pratt).

    Searching on from each start would take the product of the lengths on repetitive text.
    """
    borders = _borders(sought)
    matched = 0
    for position, letter in enumerate(content):
        while matched and (matched == len(sought) or sought[matched] != letter):
            matched = borders[matched - 1]
        if sought[matched] == letter:
            matched += 1
        if matched == len(sought):
            yield position - matched + 1


def _borders(sought: str) -> list[int]:
    """For each prefix, the length of its longest proper prefix that is also its suffix."""
    borders = [0] * len(sought)
    length = 0
    for position in range(1, len(sought)):
        while length and sought[length] != sought[position]:
            length = borders[length - 1]
        if sought[length] == sought[position]:
            length += 1
        borders[position] = length
    return borders
