"""What a model is shown of the mounts (docs/reference/maintenance.md, section 4.1).

Bodies stand raw between fences whose token nobody could guess when they wrote them, so
that whatever a body says is data.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import TypeAlias

import msgspec

from commonhold.contract.documents import MemoryDocument, MemoryEntry
from commonhold.contract.stores import MemoryReader
from commonhold.usecases.mounts import Mount
from commonhold.usecases.upkeep.listings import entries_in
from commonhold.usecases.upkeep.protections import AgeFloor, has_own_lifecycle
from commonhold.usecases.virtual_paths import virtual_path

BUDGET = 120_000
OMITTED = "(body omitted: leave this document alone)"

_TITLE = "# Current memory"
_EMPTY = "(empty)"
_EDIT_ONLY = " (edit-only: existing documents may be edited, the set is fixed)"
_REDACTED = " (redacted: leave alone)"
_FRESH = " [fresh: do not delete]"
_UNLISTED = "({} more documents are not listed: leave them alone)"
# What the line above takes at most, with its end.
_UNLISTED_ROOM = len(_UNLISTED) + 20
# Stands for a token where only lengths count.
_ANY_TOKEN = "0" * 16
_ALL_LISTED: Mapping[str, int] = {}

Key: TypeAlias = tuple[str, str]
"""A scope and a document path."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The version a model was told of, and whether with its text."""

    version: int
    updated_at: datetime
    redacted: bool = False
    has_body: bool = False


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The message, the token of its fences, and what it told of each document.

    `unlisted` counts, by mount, documents that it could not even name.
    """

    text: str
    token: str
    shown: Mapping[Key, Shown]
    unlisted: Mapping[str, int] = {}


class _Exhibit(msgspec.Struct, kw_only=True):
    """A document on its way into the message."""

    mount: Mount
    entry: MemoryEntry | MemoryDocument
    body: str | None = None

    @property
    def key(self) -> Key:
        return self.mount.scope, self.entry.path


async def gather(
    documents: MemoryReader,
    mounts: Sequence[Mount],
    floor: AgeFloor,
    *,
    new_token: Callable[[], str],
    pick: Callable[[int], int],
    budget: int = BUDGET,
) -> Evidence:
    """The state of the mounts, in as many bodies, from the first on, as the budget holds.

    Where not even the headings fit, a part of the documents is shown, whole, from one that
    `pick` chooses among their number; over many passes each has its turn. A body that
    changed or was erased while the others were read is left out again.
    """
    found = [exhibit for mount in mounts async for exhibit in _exhibits(documents, mount)]
    unlisted: Counter[str] = Counter()
    if len(_render(mounts, found, floor=floor, token=_ANY_TOKEN)) <= budget:
        exhibits = await _with_bodies(documents, found, mounts, floor=floor, budget=budget)
    else:
        start = pick(len(found))
        exhibits = await _part(documents, found, mounts, start=start, floor=floor, budget=budget)
        unlisted.update(exhibit.mount.mount_path for exhibit in found)
        unlisted.subtract(exhibit.mount.mount_path for exhibit in exhibits)
    await _leave_out_moved(documents, exhibits)
    bodies = [exhibit.body for exhibit in exhibits if exhibit.body is not None]
    token = new_token()
    while any(token in body for body in bodies):
        token = new_token()
    return Evidence(
        text=_render(mounts, exhibits, floor=floor, token=token, unlisted=unlisted),
        token=token,
        shown={exhibit.key: _shown(exhibit) for exhibit in exhibits},
        unlisted=+unlisted,
    )


async def _exhibits(documents: MemoryReader, mount: Mount) -> AsyncIterator[_Exhibit]:
    async for entry in entries_in(documents, mount.scope):
        if not has_own_lifecycle(entry.path):
            yield _Exhibit(mount=mount, entry=entry)


async def _with_bodies(
    documents: MemoryReader,
    exhibits: Sequence[_Exhibit],
    mounts: Sequence[Mount],
    *,
    floor: AgeFloor,
    budget: int,
) -> list[_Exhibit]:
    """Those still there, with bodies until the first one that would pass the budget."""
    token = _ANY_TOKEN
    length = len(_render(mounts, exhibits, floor=floor, token=token))
    has_room = True
    standing: list[_Exhibit] = []
    for exhibit in exhibits:
        if not has_room or exhibit.entry.redacted:
            standing.append(exhibit)
            continue
        before = _length(exhibit, floor=floor, token=token)
        if not await _fill(documents, exhibit):
            length -= before
            continue
        after = _length(exhibit, floor=floor, token=token)
        has_room = length - before + after <= budget
        if not has_room:
            exhibit.body = None
            after = _length(exhibit, floor=floor, token=token)
        length += after - before
        standing.append(exhibit)
    return standing


async def _part(
    documents: MemoryReader,
    exhibits: Sequence[_Exhibit],
    mounts: Sequence[Mount],
    *,
    start: int,
    floor: AgeFloor,
    budget: int,
) -> list[_Exhibit]:
    """As many as the budget holds with their bodies, from one on and then from the first."""
    room = budget - len(_render(mounts, (), floor=floor, token=_ANY_TOKEN))
    room -= _UNLISTED_ROOM * len(mounts)
    part: dict[int, _Exhibit] = {}
    for index in chain(range(start, len(exhibits)), range(start)):
        exhibit = exhibits[index]
        if not exhibit.entry.redacted and not await _fill(documents, exhibit):
            continue
        room -= _length(exhibit, floor=floor, token=_ANY_TOKEN)
        if room < 0:
            break
        part[index] = exhibit
    return [part[index] for index in sorted(part)]


async def _fill(documents: MemoryReader, exhibit: _Exhibit) -> bool:
    """Give it the document as it is now; False when that is gone."""
    document = await documents.read(*exhibit.key)
    if document is None:
        return False
    exhibit.body = None if document.redacted else document.content
    # The version is told; the text itself stays in `body` alone.
    exhibit.entry = msgspec.structs.replace(document, content="")
    return True


async def _leave_out_moved(documents: MemoryReader, exhibits: Iterable[_Exhibit]) -> None:
    """Look once more, as late as can be: what was erased meanwhile must not be sent."""
    told = {exhibit.key: exhibit for exhibit in exhibits if exhibit.body is not None}
    current: dict[Key, MemoryEntry] = {}
    for scope in dict.fromkeys(scope for scope, _ in told):
        async for entry in entries_in(documents, scope):
            if (scope, entry.path) in told:
                current[scope, entry.path] = entry
    for exhibit in exhibits:
        now = current.get(exhibit.key)
        if now is None or now.redacted or now.version != exhibit.entry.version:
            exhibit.body = None


def _shown(exhibit: _Exhibit) -> Shown:
    return Shown(
        version=exhibit.entry.version,
        updated_at=exhibit.entry.updated_at,
        redacted=exhibit.entry.redacted,
        has_body=exhibit.body is not None,
    )


def _render(
    mounts: Sequence[Mount],
    exhibits: Iterable[_Exhibit],
    *,
    floor: AgeFloor,
    token: str,
    unlisted: Mapping[str, int] = _ALL_LISTED,
) -> str:
    of_mount: dict[str, list[_Exhibit]] = {mount.mount_path: [] for mount in mounts}
    for exhibit in exhibits:
        of_mount[exhibit.mount.mount_path].append(exhibit)
    sections = [_TITLE]
    for mount in mounts:
        lines = [_heading(mount)]
        for exhibit in of_mount[mount.mount_path]:
            lines += _lines(exhibit, floor=floor, token=token)
        if more := unlisted.get(mount.mount_path):
            lines.append(_UNLISTED.format(more))
        if len(lines) == 1:
            lines.append(_EMPTY)
        sections.append("\n".join(lines))
    return "\n\n".join(sections) + "\n"


def _heading(mount: Mount) -> str:
    description = f" \N{EM DASH} {mount.description}" if mount.description else ""
    return f"## /{mount.mount_path}{description}{_EDIT_ONLY if mount.edit_only else ''}"


def _length(exhibit: _Exhibit, *, floor: AgeFloor, token: str) -> int:
    return sum(len(line) + 1 for line in _lines(exhibit, floor=floor, token=token))


def _lines(exhibit: _Exhibit, *, floor: AgeFloor, token: str) -> Iterator[str]:
    entry = exhibit.entry
    path = f"### {virtual_path(exhibit.mount, entry.path)}"
    if entry.redacted:
        yield path + _REDACTED
        return
    created, updated = entry.created_at.date(), entry.updated_at.date()
    fresh = _FRESH if floor.is_fresh(entry.updated_at) else ""
    yield f"{path} [v{entry.version} | created {created} | updated {updated}]{fresh}"
    if exhibit.body is None:
        yield OMITTED
        return
    yield f"<<<{token} begin>>>"
    yield exhibit.body
    yield f"<<<{token} end>>>"
