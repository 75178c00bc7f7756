"""Listings of a scope: documents, versions, history and erasures, whole and in pages.

What is asked for is read, and of the rest only as much as orders it: a page of a large
history holds no more content than it answers.
"""

import heapq
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby, takewhile
from operator import attrgetter

import msgspec

from commonhold.adapters.file import lines
from commonhold.adapters.file.documents import Documents
from commonhold.adapters.file.envelopes import Envelope
from commonhold.adapters.file.faults import RowFaultError
from commonhold.adapters.file.findings import MOST_ROWS, Findings
from commonhold.adapters.file.layout import versions_file
from commonhold.adapters.file.records import document_paths, get_mark, ledger_paths, read_trail
from commonhold.adapters.file.refusals import astray, collision, look, unsupported
from commonhold.adapters.file.tree import Place, SpelledOtherwiseError, StrayEntryError, Tree
from commonhold.contract.documents import MemoryDocument, MemoryRedaction, MemoryVersion
from commonhold.contract.expirations import AgedDocument
from commonhold.contract.paging import (
    PAGE_BYTES,
    HistoryPosition,
    Page,
    TrailPosition,
    VersionsPosition,
    encode_cursor,
    follows_trail,
    history_position,
    page_of,
    to_microseconds,
)


class _Row(msgspec.Struct, frozen=True):
    """A version row by its place: bytes `start` to `end` of its file."""

    path: str
    version: int
    created_at: datetime
    redacted: bool
    number: int
    start: int
    end: int


class _Ledger(msgspec.Struct, frozen=True):
    """The rows of a path in the orders that pages have, so that a page costs what it answers."""

    by_number: Sequence[_Row] = ()
    by_age: Sequence[_Row] = ()

    def __len__(self) -> int:
        return len(self.by_age)


_NO_ROWS = _Ledger()


class Listings:
    """Every listing of one root; the caller holds the root's lock."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._marks = Findings[_Ledger](most=MOST_ROWS, weigh=len)

    def documents(
        self, tree: Tree, scope: str, *, prefix: str, after: str = ""
    ) -> Iterator[MemoryDocument]:
        """By path; a file is opened when the caller comes to it."""
        for path in document_paths(tree, scope):
            if path > after and path.startswith(prefix):
                document = self._documents.read(tree, scope, path)
                if document is not None:
                    yield document

    def versions(
        self, tree: Tree, scope: str, path: str, *, below: int | None = None
    ) -> Iterator[MemoryVersion]:
        """Newest first; a row is judged when the caller comes to it, its place in any case."""
        rows = self._ledger(tree, scope, path).by_number
        start = 0 if below is None else bisect_right(rows, -below, key=_number)
        return _read_each(tree, scope, _from(rows, start))

    def history(
        self,
        tree: Tree,
        scope: str,
        *,
        since: datetime | None,
        behind: HistoryPosition | None = None,
    ) -> Iterator[MemoryVersion]:
        """Newest first, as `versions`."""
        ledgers = [self._ledger(tree, scope, path).by_age for path in ledger_paths(tree, scope)]
        starts = [0 if behind is None else _behind(rows, behind) for rows in ledgers]
        rows = heapq.merge(*map(_from, ledgers, starts), key=_age)
        if since is None:
            return _read_each(tree, scope, rows)
        return _read_each(tree, scope, takewhile(lambda row: row.created_at >= since, rows))

    def redactions(
        self, tree: Tree, scope: str, *, since: datetime | None
    ) -> list[tuple[TrailPosition, MemoryRedaction]]:
        """Newest first, each with its place."""
        acts = [
            (TrailPosition(created_at=to_microseconds(act.created_at), row=number), act)
            for number, act in enumerate(read_trail(tree, scope), 1)
            if since is None or act.created_at >= since
        ]
        return sorted(acts, key=lambda act: (act[0].created_at, act[0].row), reverse=True)

    def aged(
        self, tree: Tree, scope: str, *, before: datetime, after: str
    ) -> Iterator[AgedDocument]:
        """Paths changed last before a moment of which something is left to erase, by path."""
        for path in sorted({*document_paths(tree, scope), *ledger_paths(tree, scope)}):
            if path > after:
                live = get_mark(tree, scope, path)
                rows = _rows(tree, scope, path)
                newest = _newest(path, live, rows)
                is_blank = (live is None or live.redacted) and all(row.redacted for row in rows)
                if newest is not None and newest.changed_at < before and not is_blank:
                    yield newest

    def versions_page(
        self, tree: Tree, scope: str, path: str, *, below: int | None, limit: int
    ) -> Page[MemoryVersion]:
        rows = self.versions(tree, scope, path, below=below)
        return _weighed(rows, limit, lambda row: VersionsPosition(version=row.version))

    def history_page(
        self,
        tree: Tree,
        scope: str,
        *,
        since: datetime | None,
        behind: HistoryPosition | None,
        limit: int,
    ) -> Page[MemoryVersion]:
        rows = self.history(tree, scope, since=since, behind=behind)
        return _weighed(rows, limit, history_position)

    def redactions_page(
        self,
        tree: Tree,
        scope: str,
        *,
        since: datetime | None,
        behind: TrailPosition | None,
        limit: int,
    ) -> Page[MemoryRedaction]:
        acts = self.redactions(tree, scope, since=since)
        left = [act for act in acts if behind is None or follows_trail(act[0], behind)]
        page = page_of(left[: limit + 1], limit=limit, position=lambda act: act[0])
        return Page(items=tuple(act for _, act in page.items), next_cursor=page.next_cursor)

    def _ledger(self, tree: Tree, scope: str, path: str) -> _Ledger:
        file = versions_file(scope, path)
        if look(tree, file, scope=scope, path=path) is not Place.FILE:
            return _NO_ROWS
        return self._marks.get(tree, file, lambda: _ledger_of(_rows(tree, scope, path)))


def _newest(path: str, live: Envelope | None, rows: Sequence[_Row]) -> AgedDocument | None:
    """The newest version, a deletion included; None for a path without any."""
    if live is not None:
        return AgedDocument(path=path, version=live.version, changed_at=live.updated_at)
    if not rows:
        return None
    last = max(rows, key=attrgetter("version"))
    return AgedDocument(path=path, version=last.version, changed_at=last.created_at)


def _weighed(
    rows: Iterator[MemoryVersion], limit: int, position: Callable[[MemoryVersion], msgspec.Struct]
) -> Page[MemoryVersion]:
    """A page that ends early when its rows are heavy."""
    items: list[MemoryVersion] = []
    weight = 0
    for row in rows:
        if len(items) >= limit or weight >= PAGE_BYTES:
            return Page(items=tuple(items), next_cursor=encode_cursor(position(items[-1])))
        items.append(row)
        weight += len(row.content)
    return Page(items=tuple(items))


def _rows(tree: Tree, scope: str, path: str) -> Sequence[_Row]:
    """The rows of a path, in the order of the file, without their content."""
    file = versions_file(scope, path)
    try:
        rows = []
        start = 0
        for number, line in enumerate(tree.lines(file), 1):
            mark = lines.version_mark(line, number=number)
            moment = lines.stamp(mark.created_at, number=number, what=lines.SIDECAR)
            end = start + len(line)
            rows.append(_Row(path, mark.version, moment, mark.redacted, number, start, end))
            if mark.path != path:
                raise collision(scope=scope, path=path, file=file)
            start = end + 1
    except RowFaultError as fault:
        raise unsupported(fault, scope=scope, path=path, file=file) from None
    except (StrayEntryError, SpelledOtherwiseError) as stray:
        raise astray(stray, scope=scope, path=path) from None
    return rows


def _read_each(tree: Tree, scope: str, rows: Iterable[_Row]) -> Iterator[MemoryVersion]:
    """The rows with their content; those of one path that follow each other in one opening."""
    for path, some in groupby(rows, key=attrgetter("path")):
        file = versions_file(scope, path)
        with tree.open(file) as opened:
            for row in some:
                # Past the buffer, which newest first would be filled anew for each row.
                line = os.pread(opened.fileno(), row.end - row.start, row.start)
                try:
                    yield lines.decode_version(line, number=row.number)
                except RowFaultError as fault:
                    raise unsupported(fault, scope=scope, path=path, file=file) from None


def _ledger_of(rows: Sequence[_Row]) -> _Ledger:
    return _Ledger(by_number=sorted(rows, key=_number), by_age=sorted(rows, key=_age))


def _number(row: _Row) -> int:
    """Orders newest first."""
    return -row.version


def _age(row: _Row) -> tuple[int, str, int]:
    """Orders a history: newest first, then by path, then by number, highest first."""
    return -to_microseconds(row.created_at), row.path, -row.version


def _behind(rows: Sequence[_Row], last: HistoryPosition) -> int:
    """Where the rows of a path begin that follow a position in the history of all."""
    return bisect_right(rows, (-last.created_at, last.path, -last.version), key=_age)


def _from(rows: Sequence[_Row], start: int) -> Iterator[_Row]:
    return (rows[place] for place in range(start, len(rows)))
