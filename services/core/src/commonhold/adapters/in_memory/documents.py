"""The memory seam in dicts, without a single await: a call is atomic on its event loop."""

import copy
from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from commonhold.adapters.in_memory.answers import Answers
from commonhold.adapters.in_memory.rows import (
    DocumentRow,
    RedactionRow,
    VersionRow,
    readable_document,
    readable_entry,
    readable_version,
)
from commonhold.contract.archives import landed_scope
from commonhold.contract.clock import Clock, read_clock, require_aware
from commonhold.contract.documents import (
    MemoryDigest,
    MemoryDocument,
    MemoryEntry,
    MemoryRedaction,
    MemoryVersion,
    ScopeArchive,
    digest_of,
    version_of,
)
from commonhold.contract.errors import DocumentNotFoundError, MemoryConflictError
from commonhold.contract.expirations import AgedDocument
from commonhold.contract.ids import check_path, check_scope
from commonhold.contract.limits import require_version
from commonhold.contract.stores import Witness
from commonhold.contract.text import has_lone_surrogate, require_storable


class PathLedger:
    """One path for ever: the live document, all versions, the highest number, the newest stamp.

    It outlives deletion, so that no number is given twice and no stamp runs backwards.
    """

    def __init__(self) -> None:
        self.live: DocumentRow | None = None
        self.rows: dict[int, VersionRow] = {}
        self.highest = 0
        self._newest: datetime | None = None

    @property
    def newest_version(self) -> int:
        """The live version, or the number of the deletion; 0 for a path never written."""
        return self.highest if self.live is None else self.live.record.version

    @property
    def changed_at(self) -> datetime:
        """The stamp of the newest version."""
        live = self.live
        return self.rows[self.highest].record.created_at if live is None else live.record.updated_at

    @property
    def is_blank(self) -> bool:
        """Whether an erasure would find nothing more to blank."""
        if self.live is not None and not self.live.record.redacted:
            return False
        return all(row.record.redacted for row in self.rows.values())

    def stamp(self, moment: datetime) -> datetime:
        """`moment`, or the newest stamp of this path when that is later."""
        return moment if self._newest is None else max(moment, self._newest)

    def add(self, record: MemoryVersion) -> None:
        self.rows[record.version] = VersionRow(record)
        self._cover(record.version, record.created_at)

    def put(self, record: MemoryDocument) -> None:
        self.live = DocumentRow(record)
        self._cover(record.version, max(record.created_at, record.updated_at))

    def blank(self, at: datetime) -> None:
        if self.live is not None:
            self.live = self.live.blank()
        for version, row in self.rows.items():
            self.rows[version] = row.blank()
        self._newest = self.stamp(at)

    def _cover(self, version: int, stamp: datetime) -> None:
        self.highest = max(self.highest, version)
        self._newest = self.stamp(stamp)


class ScopeLedger:
    """One scope: its paths and its erasures, oldest first."""

    def __init__(self) -> None:
        self.paths: dict[str, PathLedger] = {}
        self.acts: list[RedactionRow] = []


class Documents:
    """Every scope of one store."""

    def __init__(self, clock: Clock, answers: Answers) -> None:
        self._clock = clock
        self._answers = answers
        self.ledgers: dict[str, ScopeLedger] = {}

    def read(self, scope: str, path: str) -> MemoryDocument | None:
        check_scope(scope)
        check_path(path)
        live = self._get_live(scope, path)
        return None if live is None else _isolated(readable_document(live))

    def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None,
        expected_version: int | None,
    ) -> MemoryDocument:
        check_scope(scope)
        check_path(path)
        require_storable(content, name="content")
        _require_storable_actor(actor)
        row = self._get_live(scope, path)
        live = None if row is None else readable_document(row)
        require_version(
            scope, path, actual=_version_of_live(live), expected_version=expected_version
        )
        now = read_clock(self._clock)
        ledger = self._put_ledger(scope, path)
        now = ledger.stamp(now)
        document = MemoryDocument(
            scope=scope,
            path=path,
            content=content,
            version=ledger.highest + 1,
            created_at=now if live is None else live.created_at,
            updated_at=now,
            actor=actor,
            extra={} if live is None else live.extra,
        )
        ledger.add(version_of(document, action="created" if live is None else "modified"))
        ledger.put(document)
        return _isolated(document)

    def delete(self, scope: str, path: str, *, actor: str | None) -> bool:
        check_scope(scope)
        check_path(path)
        _require_storable_actor(actor)
        row = self._get_live(scope, path)
        if row is None:
            return False
        live = readable_document(row)
        now = read_clock(self._clock)
        ledger = self._put_ledger(scope, path)
        self._remove(ledger, live, actor=actor, now=ledger.stamp(now))
        return True

    def rename(self, scope: str, src: str, dst: str, *, actor: str | None) -> MemoryDocument:
        check_scope(scope)
        check_path(src)
        check_path(dst)
        _require_storable_actor(actor)
        row = self._get_live(scope, src)
        if row is None:
            raise DocumentNotFoundError(scope=scope, path=src)
        if self._get_live(scope, dst) is not None:
            raise MemoryConflictError(scope=scope, path=dst, reason="destination_exists")
        live = readable_document(row)
        now = read_clock(self._clock)
        source, target = self._put_ledger(scope, src), self._put_ledger(scope, dst)
        now = target.stamp(source.stamp(now))
        self._remove(source, live, actor=actor, now=now)
        moved = msgspec.structs.replace(
            live,
            path=dst,
            version=target.highest + 1,
            created_at=now,
            updated_at=now,
            actor=actor,
        )
        target.add(version_of(moved, action="created"))
        target.put(moved)
        return _isolated(moved)

    def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None
    ) -> MemoryDocument:
        check_scope(scope)
        check_path(path)
        require_storable(content, name="content")
        _require_storable_actor(actor)
        if self._get_live(scope, path) is not None:
            raise MemoryConflictError(scope=scope, path=path, reason="destination_exists")
        return self.write(scope, path, content, actor=actor, expected_version=None)

    def delete_if(
        self,
        scope: str,
        path: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness],
        actor: str | None,
    ) -> int:
        check_scope(scope)
        for name in (path, *(witness for witness, _ in witnesses)):
            check_path(name)
        _require_storable_actor(actor)
        self._require_live(scope, path, expected_version)
        self._require_standing(scope, witnesses)
        self.delete(scope, path, actor=actor)
        return self.ledgers[scope].paths[path].highest

    def rename_if(
        self,
        scope: str,
        src: str,
        dst: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness],
        actor: str | None,
    ) -> MemoryDocument:
        check_scope(scope)
        for name in (src, dst, *(witness for witness, _ in witnesses)):
            check_path(name)
        _require_storable_actor(actor)
        self._require_live(scope, src, expected_version)
        if self._get_live(scope, dst) is not None:
            raise MemoryConflictError(scope=scope, path=dst, reason="destination_exists")
        self._require_standing(scope, witnesses)
        return self.rename(scope, src, dst, actor=actor)

    def list_documents(self, scope: str, *, prefix: str) -> tuple[MemoryEntry, ...]:
        check_scope(scope)
        if has_lone_surrogate(prefix):
            raise ValueError("parameter 'prefix' must not contain a lone surrogate")
        paths = self._paths(scope)
        return tuple(
            readable_entry(live)
            for path in sorted(paths)
            if path.startswith(prefix) and (live := paths[path].live) is not None
        )

    def digests(self, scope: str, *, prefix: str) -> Iterator[MemoryDigest]:
        """By path; the content of a row is looked at only when the caller reaches it."""
        entries = self.list_documents(scope, prefix=prefix)
        paths = self._paths(scope)
        found = (live.record for entry in entries if (live := paths[entry.path].live) is not None)
        return (digest_of(document) for document in found)

    def versions(self, scope: str, path: str) -> Iterator[MemoryVersion]:
        """Newest first; a row is judged only when the caller reaches it."""
        check_scope(scope)
        check_path(path)
        ledger = self._paths(scope).get(path)
        rows = {} if ledger is None else ledger.rows
        return (readable_version(rows[version], scope=scope) for version in sorted(rows)[::-1])

    def redact(self, scope: str, *, path: str | None, actor: str | None) -> int:
        check_scope(scope)
        if path is not None:
            check_path(path)
        _require_storable_actor(actor)
        paths = self._paths(scope)
        named = paths if path is None else {path} & paths.keys()
        targets = [paths[name] for name in named]
        if not targets:
            return 0
        now = read_clock(self._clock)
        for target in targets:
            now = target.stamp(now)
        for target in targets:
            target.blank(now)
        self._answers.forget_documents(scope, path=path)
        act = MemoryRedaction(path=path, actor=actor, created_at=now, count=len(targets))
        self._record(scope, act)
        return len(targets)

    def redact_if(self, scope: str, path: str, *, expected_version: int, actor: str | None) -> None:
        check_scope(scope)
        check_path(path)
        _require_storable_actor(actor)
        ledger = self._paths(scope).get(path)
        newest = 0 if ledger is None else ledger.newest_version
        if newest == 0 or newest != expected_version:
            raise MemoryConflictError(
                scope=scope,
                path=path,
                reason="version_mismatch" if newest else "document_absent",
                expected_version=expected_version,
                actual_version=newest or None,
            )
        self.redact(scope, path=path, actor=actor)

    def aged(self, scope: str, *, before: datetime) -> Iterator[AgedDocument]:
        """By path."""
        check_scope(scope)
        start = require_aware(before, name="before")
        paths = self._paths(scope)
        return (
            AgedDocument(path=path, version=ledger.newest_version, changed_at=ledger.changed_at)
            for path, ledger in sorted(paths.items())
            if ledger.newest_version and ledger.changed_at < start and not ledger.is_blank
        )

    def history(self, scope: str, *, since: datetime | None) -> Iterator[MemoryVersion]:
        """Newest first; a row is judged only when the caller reaches it."""
        check_scope(scope)
        start = None if since is None else require_aware(since, name="since")
        rows = [
            row
            for ledger in self._paths(scope).values()
            for row in ledger.rows.values()
            if start is None or row.record.created_at >= start
        ]
        rows.sort(key=lambda row: (row.record.path, -row.record.version))
        rows.sort(key=lambda row: row.record.created_at, reverse=True)
        return (readable_version(row, scope=scope) for row in rows)

    def redactions(self, scope: str, *, since: datetime | None) -> tuple[RedactionRow, ...]:
        """Newest first, with the ids that decide between equal stamps."""
        check_scope(scope)
        start = None if since is None else require_aware(since, name="since")
        acts = self.ledgers[scope].acts if scope in self.ledgers else []
        found = [act for act in acts if start is None or act.record.created_at >= start]
        return tuple(
            sorted(found, key=lambda act: (act.record.created_at, act.row_id), reverse=True)
        )

    def scopes(self) -> tuple[str, ...]:
        return tuple(sorted(self.ledgers))

    def archive(self, scope: str) -> ScopeArchive:
        check_scope(scope)
        paths = self._paths(scope)
        acts = self.ledgers[scope].acts if scope in self.ledgers else []
        ordered = sorted(acts, key=lambda act: (act.record.created_at, act.row_id))
        return ScopeArchive(
            scope=scope,
            documents=tuple(
                _isolated(readable_document(live))
                for path in sorted(paths)
                if (live := paths[path].live) is not None
            ),
            versions=tuple(
                readable_version(ledger.rows[version], scope=scope)
                for _, ledger in sorted(paths.items())
                for version in sorted(ledger.rows)
            ),
            redactions=tuple(act.record for act in ordered),
        )

    def restore(self, archive: ScopeArchive) -> None:
        checked = landed_scope(archive)
        if checked.scope in self.ledgers:
            raise MemoryConflictError(scope=checked.scope, path=None, reason="target_occupied")
        for document in checked.documents:
            self._put_ledger(checked.scope, document.path).put(_isolated(document))
        for version in checked.versions:
            self._put_ledger(checked.scope, version.path).add(version)
        for act in checked.redactions:
            self._record(checked.scope, act)

    def version(self, scope: str, path: str, *, version: int) -> MemoryVersion:
        """A version that is known to exist, as it is now."""
        return readable_version(self.ledgers[scope].paths[path].rows[version], scope=scope)

    def _get_live(self, scope: str, path: str) -> DocumentRow | None:
        ledger = self._paths(scope).get(path)
        return None if ledger is None else ledger.live

    def _require_live(self, scope: str, path: str, expected_version: int) -> None:
        row = self._get_live(scope, path)
        live = None if row is None else readable_document(row)
        require_version(
            scope, path, actual=_version_of_live(live), expected_version=expected_version
        )

    def _require_standing(self, scope: str, witnesses: Sequence[Witness]) -> None:
        """Only the versions are compared: what a witness holds is not read."""
        for path, version in witnesses:
            row = self._get_live(scope, path)
            live = None if row is None else row.record
            require_version(scope, path, actual=_version_of_live(live), expected_version=version)

    def _paths(self, scope: str) -> dict[str, PathLedger]:
        ledger = self.ledgers.get(scope)
        return {} if ledger is None else ledger.paths

    def _put_ledger(self, scope: str, path: str) -> PathLedger:
        """The ledger of a path, made when missing: the last step before rows are added."""
        paths = self.ledgers.setdefault(scope, ScopeLedger()).paths
        return paths.setdefault(path, PathLedger())

    def _remove(
        self, ledger: PathLedger, live: MemoryDocument, *, actor: str | None, now: datetime
    ) -> None:
        gone = msgspec.structs.replace(
            live, version=ledger.highest + 1, actor=actor, updated_at=now
        )
        ledger.add(version_of(gone, action="deleted"))
        ledger.live = None

    def _record(self, scope: str, act: MemoryRedaction) -> None:
        acts = self.ledgers.setdefault(scope, ScopeLedger()).acts
        acts.append(RedactionRow(row_id=len(acts) + 1, record=act))


def _version_of_live(live: MemoryDocument | None) -> int | None:
    return None if live is None else live.version


def _isolated(document: MemoryDocument) -> MemoryDocument:
    """A copy whose `extra` the caller may change without changing the store's."""
    if not document.extra:
        return document
    return msgspec.structs.replace(document, extra=copy.deepcopy(document.extra))


def _require_storable_actor(actor: str | None) -> None:
    if actor is not None:
        require_storable(actor, name="actor")
