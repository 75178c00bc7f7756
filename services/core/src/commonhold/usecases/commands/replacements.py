"""`str_replace`: one exact text for another (docs/reference/memory-tool.md, section 6.3)."""

from collections.abc import Iterable, Iterator
from itertools import islice

from commonhold.usecases.commands.edits import read_for_edit, write_edit
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.envelopes import ToolResult
from commonhold.usecases.failures import CommandError
from commonhold.usecases.virtual_paths import Place, require_writable, resolve_document

# Matches that a refusal counts and places. A large text may hold millions, and nothing else
# is answered while they are looked for.
MOST_MATCHES = 50


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
    starts = list(islice(_match_starts(content, sought), MOST_MATCHES + 1))
    if not starts:
        raise CommandError(
            f"old_str did not appear verbatim in {place}",
            hint="View the document and copy the exact text.",
        )
    if len(starts) == 1:
        return starts[0]
    listed = ", ".join(map(str, _lines_of(content, starts[:MOST_MATCHES])))
    if len(starts) > MOST_MATCHES:
        count, lines = f"more than {MOST_MATCHES}", f"the first ones in lines {listed}"
    else:
        count, lines = f"{len(starts)}", f"lines {listed}"
    raise CommandError(
        f"old_str appears {count} times in {place} ({lines})",
        hint="Include more of the surrounding text, so that it appears once.",
    )


def _lines_of(content: str, starts: Iterable[int]) -> Iterator[int]:
    line, counted = 1, 0
    for start in starts:
        line += content.count("\n", counted, start)
        counted = start
        yield line


def _match_starts(content: str, sought: str) -> Iterator[int]:
    """Every start, overlaps included; each costs a search through the rest of the text."""
    start = content.find(sought)
    while start >= 0:
        yield start
        start = content.find(sought, start + 1)
