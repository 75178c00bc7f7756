"""What a model is shown of the mounts (docs/reference/maintenance.md, section 4.1).

Bodies stand raw between fences whose token nobody could guess when they wrote them, so
that whatever a body says is data.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
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

Key: TypeAlias = tuple[str, str]
"""A scope and a document path."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The version a model was told of, and whether with its text."""

    version: int
    updated_at: datetime
    redacted: bool = False
    has_body: bool = False


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The message, the token of its fences, and what it told of each document."""

    text: str
    token: str
    shown: Mapping[Key, Shown]


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
    budget: int = BUDGET,
) -> Evidence:
    """The state of the mounts, in as many bodies, from the first on, as the budget holds.

    A body that changed or was erased while the others were read is left out again.
    """
    exhibits = [exhibit for mount in mounts async for exhibit in _exhibits(documents, mount)]
    exhibits = await _with_bodies(documents, exhibits, mounts, floor=floor, budget=budget)
    await _leave_out_moved(documents, exhibits)
    bodies = [exhibit.body for exhibit in exhibits if exhibit.body is not None]
    token = new_token()
    while any(token in body for body in bodies):
        token = new_token()
    return Evidence(
        text=_render(mounts, exhibits, floor=floor, token=token),
        token=token,
        shown={exhibit.key: _shown(exhibit) for exhibit in exhibits},
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
    token = "0" * 16
    length = len(_render(mounts, exhibits, floor=floor, token=token))
    has_room = True
    standing: list[_Exhibit] = []
    for exhibit in exhibits:
        if not has_room or exhibit.entry.redacted:
            standing.append(exhibit)
            continue
        before = _length(exhibit, floor=floor, token=token)
        document = await documents.read(*exhibit.key)
        if document is None:
            length -= before
            continue
        exhibit.entry = document
        exhibit.body = None if document.redacted else document.content
        after = _length(exhibit, floor=floor, token=token)
        has_room = length - before + after <= budget
        if not has_room:
            exhibit.body = None
            after = _length(exhibit, floor=floor, token=token)
        length += after - before
        # The version was told; the text itself stays in `body` alone.
        exhibit.entry = msgspec.structs.replace(document, content="")
        standing.append(exhibit)
    return standing


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
    mounts: Sequence[Mount], exhibits: Iterable[_Exhibit], *, floor: AgeFloor, token: str
) -> str:
    of_mount: dict[str, list[_Exhibit]] = {mount.mount_path: [] for mount in mounts}
    for exhibit in exhibits:
        of_mount[exhibit.mount.mount_path].append(exhibit)
    sections = [_TITLE]
    for mount in mounts:
        lines = [_heading(mount)]
        for exhibit in of_mount[mount.mount_path]:
            lines += _lines(exhibit, floor=floor, token=token)
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
