"""The table of contents of a caller's mounts, within a budget of characters.

docs/reference/memory-tool.md, section 9. When not every document fits, the ones written
last keep their lines and the others fold into counts.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from commonhold.contract.documents import MemoryEntry
from commonhold.contract.outlines import LOOSE, Outline, Outlined, directory_of
from commonhold.contract.stores import MemoryReader
from commonhold.usecases.contexts import DEFAULT_INDEX_BUDGET
from commonhold.usecases.mounts import Mount, MountTable
from commonhold.usecases.views import entry_line
from commonhold.usecases.virtual_paths import MAILBOX_PREFIX, STATE_PREFIXES, without_state

_GAP = "\n\n"
_EMPTY = "(empty)"
# The line of a document whose name and mount are one letter each, with its newline.
_SHORTEST_LINE = len("- /m/p\n")
# Most lines are at least this long; where they are not, a second question costs little.
_USUAL_LINE = 24


class IndexedMount(msgspec.Struct, frozen=True, kw_only=True):
    """A mount with the documents that an index shows, by path, and its mailbox records.

    With `counts`, by directory, `entries` may be the newest alone of more documents: so
    many that the lines of all of them would pass the budget.
    """

    mount: Mount
    entries: tuple[MemoryEntry, ...]
    mailbox_records: int = 0
    counts: Mapping[str, int] | None = None

    @property
    def directories(self) -> Mapping[str, int]:
        if self.counts is not None:
            return self.counts
        return Counter(directory_of(entry.path) for entry in self.entries)

    @property
    def total(self) -> int:
        return len(self.entries) if self.counts is None else sum(self.counts.values())

    @property
    def is_whole(self) -> bool:
        return self.total == len(self.entries)


async def read_index(
    documents: MemoryReader,
    table: MountTable,
    *,
    budget: int = DEFAULT_INDEX_BUDGET,
    counts_mailboxes: bool = False,
) -> str:
    """Render the index of a caller's mounts; each scope is read once, and no body at all.

    An Outlined store is asked only for what can be shown or is counted, and a second time
    where names are so short that the budget has room for more.
    """
    if isinstance(documents, Outlined) and not counts_mailboxes:
        return render_index(await _outlined(documents, table, budget=budget), budget=budget)
    listings = {
        scope: await documents.list_documents(scope)
        for scope in dict.fromkeys(mount.scope for mount in table.mounts)
    }
    return render_index(
        [
            IndexedMount(
                mount=mount,
                entries=without_state(listings[mount.scope]),
                mailbox_records=_mailbox_records(listings[mount.scope]) if counts_mailboxes else 0,
            )
            for mount in table.mounts
        ],
        budget=budget,
    )


async def _outlined(documents: Outlined, table: MountTable, *, budget: int) -> list[IndexedMount]:
    outlines = {
        scope: await _outline(documents, scope, table, budget=budget)
        for scope in dict.fromkeys(mount.scope for mount in table.mounts)
    }
    return [
        IndexedMount(
            mount=mount,
            entries=tuple(sorted(outlines[mount.scope].newest, key=lambda entry: entry.path)),
            counts=outlines[mount.scope].counts,
        )
        for mount in table.mounts
    ]


async def _outline(documents: Outlined, scope: str, table: MountTable, *, budget: int) -> Outline:
    """As many rows as fill the budget: with lines of usual length, else with the shortest."""
    room = max(budget, 0)
    outline = await documents.outline(
        scope, excluding=STATE_PREFIXES, newest=room // _USUAL_LINE + 1
    )
    mounts = [mount for mount in table.mounts if mount.scope == scope]
    if all(_is_enough(outline, mount, budget=budget) for mount in mounts):
        return outline
    return await documents.outline(
        scope, excluding=STATE_PREFIXES, newest=room // _SHORTEST_LINE + 1
    )


def _is_enough(outline: Outline, mount: Mount, *, budget: int) -> bool:
    """Whether no document beyond the newest can change the index."""
    if len(outline.newest) == sum(outline.counts.values()):
        return True
    return sum(len(entry_line(mount, entry)) + 1 for entry in outline.newest) > budget


def render_index(mounts: Sequence[IndexedMount], *, budget: int = DEFAULT_INDEX_BUDGET) -> str:
    """Show every document; else the newest ones and folds; else a count a mount.

    Only the last form may be longer than the budget.
    """
    suffix = "".join(f"\n{_mailbox_line(indexed)}" for indexed in mounts if indexed.mailbox_records)
    room = budget - len(suffix)
    text = _full(mounts) if all(indexed.is_whole for indexed in mounts) else None
    if text is None or len(text) > room:
        text = _tiered(mounts, room=room)
    if text is None or len(text) > room:
        text = _floor(mounts)
    return text + suffix


def _full(mounts: Sequence[IndexedMount]) -> str:
    return _GAP.join(
        _block(indexed, [entry_line(indexed.mount, entry) for entry in indexed.entries])
        for indexed in mounts
    )


def _floor(mounts: Sequence[IndexedMount]) -> str:
    return _GAP.join(_block(indexed, [_collapsed_line(indexed)]) for indexed in mounts)


def _tiered(mounts: Sequence[IndexedMount], *, room: int) -> str | None:
    """Give documents lines of their own, newest first, while the text stays in its room.

    None when the lines already given pass it, which no later document can change.
    """
    hot: list[set[str]] = [set() for _ in mounts]
    cold = [Counter(indexed.directories) for indexed in mounts]
    length = len(_folded(mounts, hot))
    for position, entry in _newest_first(mounts):
        mount, directory = mounts[position].mount, directory_of(entry.path)
        growth = len(entry_line(mount, entry)) + 1
        growth -= _shrinkage(mount, directory, cold[position][directory])
        # A cutoff by age: an older document never shows in the place of a newer one.
        if length + growth > room and growth >= 0:
            break
        length += growth
        cold[position][directory] -= 1
        hot[position].add(entry.path)
        if len(hot[position]) == len(mounts[position].entries) < mounts[position].total:
            return None
    return _folded(mounts, hot)


def _folded(mounts: Sequence[IndexedMount], hot: Sequence[Collection[str]]) -> str:
    return _GAP.join(
        _block(indexed, _folded_lines(indexed, shown))
        for indexed, shown in zip(mounts, hot, strict=True)
    )


def _folded_lines(indexed: IndexedMount, hot: Collection[str]) -> list[str]:
    cold = Counter(indexed.directories)
    cold.subtract(directory_of(path) for path in hot)
    cold = +cold
    loose = cold.pop(LOOSE, 0)
    lines = [entry_line(indexed.mount, entry) for entry in indexed.entries if entry.path in hot]
    lines += [_fold_line(indexed.mount, name, count) for name, count in sorted(cold.items())]
    if loose:
        lines.append(_fold_line(indexed.mount, LOOSE, loose))
    return lines


def _newest_first(mounts: Sequence[IndexedMount]) -> list[tuple[int, MemoryEntry]]:
    in_order = [
        (position, entry) for position, indexed in enumerate(mounts) for entry in indexed.entries
    ]
    # The sort is stable in reverse too: equal stamps stay by mount and path, ascending.
    return sorted(in_order, key=lambda placed: placed[1].updated_at, reverse=True)


def _shrinkage(mount: Mount, directory: str, count: int) -> int:
    """By how much the fold line gives way when one of its documents leaves it."""
    line = len(_fold_line(mount, directory, count))
    if count == 1:
        return line + 1
    return line - len(_fold_line(mount, directory, count - 1))


def _block(indexed: IndexedMount, lines: Sequence[str]) -> str:
    return "\n".join([_header(indexed.mount), *(lines if indexed.total else [_EMPTY])])


def _header(mount: Mount) -> str:
    description = f" \N{EM DASH} {mount.description}" if mount.description else ""
    flag = " (read-only)" if mount.read_only else " (edit-only)" if mount.edit_only else ""
    return f"## /{mount.mount_path}{description}{flag}"


def _fold_line(mount: Mount, directory: str, count: int) -> str:
    if directory == LOOSE:
        return f"- /{mount.mount_path}/ ({count} more)"
    return f"- /{mount.mount_path}/{directory}/ ({_documents(count)})"


def _collapsed_line(indexed: IndexedMount) -> str:
    name = indexed.mount.mount_path
    return f"({_documents(indexed.total)} \N{EM DASH} view /{name}/ to list)"


def _documents(count: int) -> str:
    return "1 document" if count == 1 else f"{count} documents"


def _mailbox_line(indexed: IndexedMount) -> str:
    name, count = indexed.mount.mount_path, indexed.mailbox_records
    return f"- /{name}/{MAILBOX_PREFIX} ({count} mailbox records; use messages list/view)"


def _mailbox_records(entries: Iterable[MemoryEntry]) -> int:
    return sum(not entry.redacted and entry.path.startswith(MAILBOX_PREFIX) for entry in entries)
