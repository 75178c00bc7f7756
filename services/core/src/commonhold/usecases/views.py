"""Documents and listings as text (docs/reference/memory-tool.md, section 8)."""

from collections.abc import Sequence

from commonhold.contract.documents import MemoryDocument, MemoryEntry
from commonhold.usecases.failures import CommandError
from commonhold.usecases.mounts import Mount
from commonhold.usecases.text_lines import count_lines, line_start
from commonhold.usecases.virtual_paths import Place, virtual_path

_TO_THE_END = -1
# Nothing else is answered while lines are numbered: these take a tenth of a second.
MOST_LINES = 200_000


def render_document(
    place: Place, document: MemoryDocument, *, view_range: Sequence[int] | None
) -> str:
    """Numbered lines under a header; of a redacted document one line, whatever the range."""
    if document.redacted:
        return f"{place}: (redacted \N{EM DASH} its content was cleared; its history is kept)"
    content = document.content
    count = count_lines(content)
    start, end = (1, count) if view_range is None else _bounds(view_range, count)
    if end - start >= MOST_LINES:
        raise CommandError(
            f"{place} has {count} lines; {MOST_LINES} can be shown at once",
            hint="Name a view_range of fewer lines.",
        )
    width = len(str(count))
    numbered = (
        f"{number:>{width}}: {line}"
        for number, line in enumerate(_lines(content, start, end), start=start)
    )
    return "\n".join([f"{place} (v{document.version}):", *numbered])


def _lines(content: str, start: int, end: int) -> list[str]:
    """Lines `start` to `end`; those before and after them are counted, not made."""
    first = line_start(content, start)
    return content[first:].split("\n", end - start + 1)[: end - start + 1]


def render_listing(mount: Mount, entries: Sequence[MemoryEntry]) -> str:
    if not entries:
        return f"/{mount.mount_path} is empty"
    return "\n".join(entry_line(mount, entry) for entry in entries)


def entry_line(mount: Mount, entry: MemoryEntry) -> str:
    mark = " (redacted)" if entry.redacted else ""
    return f"- {virtual_path(mount, entry.path)}{mark}"


def _bounds(view_range: Sequence[int], count: int) -> tuple[int, int]:
    """First and last line, 1-based and inclusive; raises CommandError."""
    if len(view_range) != len(("start", "end")):
        given = list(view_range)
        raise CommandError(f"view_range must be [start_line, end_line], got {given}")
    start, end = view_range
    if not 1 <= start <= count:
        raise CommandError(f"view_range start {start} is outside [1, {count}]")
    if end == _TO_THE_END:
        return start, count
    if end < start:
        raise CommandError(f"view_range end {end} must be -1 or >= start {start}")
    return start, min(end, count)
