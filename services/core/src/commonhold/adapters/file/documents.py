"""The memory seam over the files of one root; the caller holds the root's lock.

docs/reference/stores.md, section 4.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from commonhold.adapters.file import lines
from commonhold.adapters.file.blanks import blank_version
from commonhold.adapters.file.changes import Change
from commonhold.adapters.file.envelopes import (
    Envelope,
    blanked,
    encode_document,
)
from commonhold.adapters.file.faults import RowFaultError
from commonhold.adapters.file.findings import MOST_FILES, Findings
from commonhold.adapters.file.layout import (
    document_file,
    scope_trail,
    versions_file,
)
from commonhold.adapters.file.ledgers import Ledger
from commonhold.adapters.file.leftovers import clear_leftovers
from commonhold.adapters.file.records import (
    Held,
    History,
    document_paths,
    erasures_of,
    get_mark,
    held_document,
    history_of,
    ledger_paths,
)
from commonhold.adapters.file.refusals import (
    astray,
    collision,
    look,
    look_for_trail,
    require_room,
    require_room_for_rows,
    unsupported,
)
from commonhold.adapters.file.tree import Place, SpelledOtherwiseError, StrayEntryError, Tree
from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.documents import (
    MemoryDocument,
    MemoryRedaction,
    MemoryVersion,
    version_of,
)
from commonhold.contract.errors import (
    DocumentNotFoundError,
    MemoryConflictError,
)
from commonhold.contract.ids import MAX_NUMBER
from commonhold.contract.limits import require_version
from commonhold.contract.stores import Witness


class Documents:
    """Every scope of one root."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._histories = Findings[History](most=MOST_FILES)
        self._erasures = Findings[dict[str | None, datetime]](most=MOST_FILES)

    def read(self, tree: Tree, scope: str, path: str) -> MemoryDocument | None:
        held = self._get(tree, scope, path)
        return None if held is None else held.record

    def write(
        self,
        tree: Tree,
        change: Change,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None,
        expected_version: int | None,
    ) -> MemoryDocument:
        held = self._get(tree, scope, path)
        live = None if held is None else held.record
        require_version(scope, path, actual=_version(live), expected_version=expected_version)
        now = read_clock(self._clock)
        ledger = self._ledger(tree, scope, path, live)
        require_room(change, scope, path)
        now = ledger.follow(now)
        document = MemoryDocument(
            scope=scope,
            path=path,
            content=content,
            version=_next(ledger, scope, path),
            created_at=now if live is None else live.created_at,
            updated_at=now,
            actor=actor,
            extra={} if live is None else live.extra,
        )
        # First, so that the disk is at it while the row is spelled.
        self._put(change, document, extra=held)
        row = version_of(document, action="created" if live is None else "modified")
        self._append(change, ledger, scope, row)
        change.commit()
        self._remember(tree, scope, row)
        return document

    def delete(
        self, tree: Tree, change: Change, scope: str, path: str, *, actor: str | None
    ) -> int | None:
        """The number of the `deleted` row; None when nothing is live."""
        held = self._get(tree, scope, path)
        if held is None:
            return None
        now = read_clock(self._clock)
        ledger = self._ledger(tree, scope, path, held.record)
        row = self._remove(change, ledger, held.record, actor=actor, now=ledger.follow(now))
        change.commit()
        self._remember(tree, scope, row)
        return row.version

    def rename(
        self, tree: Tree, change: Change, scope: str, src: str, dst: str, *, actor: str | None
    ) -> MemoryDocument:
        if not self._is_live(tree, scope, src):
            raise DocumentNotFoundError(scope=scope, path=src)
        self._require_free(tree, scope, dst)
        held = self._get(tree, scope, src)
        if held is None:
            raise DocumentNotFoundError(scope=scope, path=src)
        now = read_clock(self._clock)
        source = self._ledger(tree, scope, src, held.record)
        target = self._ledger(tree, scope, dst, None)
        require_room(change, scope, dst)
        now = target.follow(source.follow(now))
        gone = self._remove(change, source, held.record, actor=actor, now=now)
        moved = msgspec.structs.replace(
            held.record,
            path=dst,
            version=_next(target, scope, dst),
            created_at=now,
            updated_at=now,
            actor=actor,
        )
        made = version_of(moved, action="created")
        self._append(change, target, scope, made)
        self._put(change, moved, extra=held)
        change.commit()
        self._remember(tree, scope, gone)
        self._remember(tree, scope, made)
        return moved

    def create_if_absent(
        self,
        tree: Tree,
        change: Change,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None,
    ) -> MemoryDocument:
        self._require_free(tree, scope, path)
        return self.write(tree, change, scope, path, content, actor=actor, expected_version=None)

    def delete_if(
        self,
        tree: Tree,
        change: Change,
        scope: str,
        path: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness],
        actor: str | None,
    ) -> int:
        self._require_live(tree, scope, path, expected_version)
        self._require_standing(tree, scope, witnesses)
        number = self.delete(tree, change, scope, path, actor=actor)
        return number or 0

    def rename_if(
        self,
        tree: Tree,
        change: Change,
        scope: str,
        src: str,
        dst: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness],
        actor: str | None,
    ) -> MemoryDocument:
        self._require_live(tree, scope, src, expected_version)
        self._require_free(tree, scope, dst)
        self._require_standing(tree, scope, witnesses)
        return self.rename(tree, change, scope, src, dst, actor=actor)

    def redact(
        self, tree: Tree, change: Change, scope: str, *, path: str | None, actor: str | None
    ) -> int:
        """Blank what is there, in the order of docs/reference/filestore.md, section 6."""
        targets = self._targets(tree, scope, path)
        is_littered = clear_leftovers(tree, change, scope, path)
        if not targets:
            if is_littered:
                change.commit()
            return 0
        now = read_clock(self._clock)
        for target in targets:
            mark = get_mark(tree, scope, target)
            now = self._ledger(tree, scope, target, mark, of_any_format=True).follow(now)
        look_for_trail(tree, scope)
        for target in targets:
            self._blank(tree, change, scope, target)
        act = MemoryRedaction(path=path, actor=actor, created_at=now, count=len(targets))
        trail = scope_trail(scope)
        change.put_lines(trail, (tree.whole_lines(trail), lines.encode_memory_redaction(act)))
        change.commit()
        return len(targets)

    def redact_if(
        self,
        tree: Tree,
        change: Change,
        scope: str,
        path: str,
        *,
        expected_version: int,
        actor: str | None,
    ) -> None:
        live = get_mark(tree, scope, path)
        newest = (
            self._ledger(tree, scope, path, None, of_any_format=True).last
            if live is None
            else live.version
        )
        require_version(scope, path, actual=newest or None, expected_version=expected_version)
        self.redact(tree, change, scope, path=path, actor=actor)

    def _get(self, tree: Tree, scope: str, path: str) -> Held | None:
        file = document_file(scope, path)
        try:
            raw = tree.read(file)
            return None if raw is None else held_document(raw, scope=scope, path=path)
        except RowFaultError as fault:
            raise unsupported(fault, scope=scope, path=path, file=file) from None
        except (StrayEntryError, SpelledOtherwiseError) as stray:
            raise astray(stray, scope=scope, path=path) from None

    def _require_live(self, tree: Tree, scope: str, path: str, expected_version: int) -> None:
        held = self._get(tree, scope, path)
        actual = None if held is None else held.record.version
        require_version(scope, path, actual=actual, expected_version=expected_version)

    def _require_standing(self, tree: Tree, scope: str, witnesses: Sequence[Witness]) -> None:
        for path, version in witnesses:
            self._require_live(tree, scope, path, version)

    def _is_live(self, tree: Tree, scope: str, path: str) -> bool:
        return look(tree, document_file(scope, path), scope=scope, path=path) is Place.FILE

    def _require_free(self, tree: Tree, scope: str, path: str) -> None:
        """Raise MemoryConflictError (`destination_exists`) when a document is live there."""
        if self._is_live(tree, scope, path):
            raise MemoryConflictError(scope=scope, path=path, reason="destination_exists")

    def _ledger(
        self,
        tree: Tree,
        scope: str,
        path: str,
        live: MemoryDocument | Envelope | None,
        *,
        of_any_format: bool = False,
    ) -> Ledger:
        """What the next row of a path follows: its rows, its document and its erasures.

        No row follows one that cannot be read; an act of erasure does, `of_any_format`.
        """
        file = versions_file(scope, path)
        try:
            history = self._histories.get(tree, file, lambda: history_of(tree.read(file) or b""))
            if not of_any_format:
                history.ledger.require_rows()
        except RowFaultError as fault:
            raise unsupported(fault, scope=scope, path=path, file=file) from None
        except (StrayEntryError, SpelledOtherwiseError) as stray:
            raise astray(stray, scope=scope, path=path) from None
        if not history.paths <= {path}:
            raise collision(scope=scope, path=path, file=file)
        ledger = history.ledger.after(self._erased_at(tree, scope, path))
        if live is None:
            return ledger
        ledger = ledger.after(max(live.created_at, live.updated_at))
        return msgspec.structs.replace(ledger, last=max(ledger.last, live.version))

    def _erased_at(self, tree: Tree, scope: str, path: str) -> datetime | None:
        """When the path was erased last; a trail that cannot be read decides nothing."""
        try:
            trail = scope_trail(scope)
            erasures = self._erasures.get(tree, trail, lambda: erasures_of(tree.read(trail) or b""))
        except (RowFaultError, StrayEntryError, SpelledOtherwiseError):
            return None
        stamps = [erasures[target] for target in (None, path) if target in erasures]
        return max(stamps, default=None)

    def _append(self, change: Change, ledger: Ledger, scope: str, row: MemoryVersion) -> None:
        line = ledger.joined(lines.encode_version(row))
        change.append(versions_file(scope, row.path), line)

    def _put(self, change: Change, document: MemoryDocument, *, extra: Held | None) -> None:
        envelope = Envelope(
            version=document.version,
            created_at=document.created_at,
            updated_at=document.updated_at,
            actor=document.actor,
            redacted=document.redacted,
            extra={} if extra is None else extra.envelope.extra,
        )
        change.put(
            document_file(document.scope, document.path),
            encode_document(envelope, document.content),
        )

    def _remove(
        self,
        change: Change,
        ledger: Ledger,
        live: MemoryDocument,
        *,
        actor: str | None,
        now: datetime,
    ) -> MemoryVersion:
        require_room_for_rows(change, live.scope, live.path)
        gone = msgspec.structs.replace(
            live, version=_next(ledger, live.scope, live.path), actor=actor, updated_at=now
        )
        row = version_of(gone, action="deleted")
        self._append(change, ledger, live.scope, row)
        change.remove(document_file(live.scope, live.path))
        return row

    def _remember(self, tree: Tree, scope: str, row: MemoryVersion) -> None:
        ledger = Ledger(last=row.version, newest=row.created_at)
        self._histories.put(
            tree, versions_file(scope, row.path), History(ledger, frozenset((row.path,)))
        )

    def _targets(self, tree: Tree, scope: str, path: str | None) -> list[str]:
        if path is None:
            return sorted({*document_paths(tree, scope), *ledger_paths(tree, scope)})
        files = (document_file(scope, path), versions_file(scope, path))
        is_there = any(look(tree, file, scope=scope, path=path) is Place.FILE for file in files)
        return [path] if is_there else []

    def _blank(self, tree: Tree, change: Change, scope: str, path: str) -> None:
        file = versions_file(scope, path)
        try:
            rows = lines.split_lines(tree.read(file) or b"")
            if rows:
                numbered = enumerate(rows, 1)
                blank = [blank_version(row, number=number) for number, row in numbered]
                change.put_lines(file, blank)
            file = document_file(scope, path)
            raw = tree.read(file)
            if raw is not None:
                change.put(file, blanked(raw))
        except RowFaultError as fault:
            raise unsupported(fault, scope=scope, path=path, file=file) from None
        except (StrayEntryError, SpelledOtherwiseError) as stray:
            raise astray(stray, scope=scope, path=path) from None


def _next(ledger: Ledger, scope: str, path: str) -> int:
    if ledger.last >= MAX_NUMBER:
        raise ValueError(f"document {path!r} in scope {scope!r} has used every version number")
    return ledger.last + 1


def _version(live: MemoryDocument | None) -> int | None:
    return None if live is None else live.version
