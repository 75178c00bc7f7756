"""A store in one SQLite file, on the standard library and the two public facades.

docs/howto/write-a-store.md walks through this file. It certifies itself:
python -m pytest examples/sqlite_store.py
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from commonhold.conformance import ControlledClock, ConversationStoreContract, MemoryStoreContract
from commonhold.contract import (
    Clock,
    ConversationFormatError,
    ConversationProjection,
    ConversationTurn,
    DocumentNotFoundError,
    MemoryConflictError,
    MemoryDocument,
    MemoryEntry,
    MemoryFormatError,
    MemoryRedaction,
    MemoryVersion,
    Message,
    StoreUnavailableError,
    SystemClock,
    check_conversation_id,
    check_path,
    check_scope,
    encode_messages,
    fold,
    load_messages,
    query_terms,
    settle_messages,
    turn_text,
)

FORMAT = 1
LARGEST_TURN = 2**31 - 1
LARGEST_INTEGER = 2**63 - 1
SYSTEM_CLOCK = SystemClock()

TABLES = """
CREATE TABLE IF NOT EXISTS documents (
    scope TEXT, path TEXT, version INTEGER, live INTEGER, content TEXT, created_at TEXT,
    updated_at TEXT, newest_at TEXT, actor TEXT, redacted INTEGER, extra TEXT,
    format INTEGER DEFAULT 1, PRIMARY KEY (scope, path)
);
CREATE TABLE IF NOT EXISTS versions (
    scope TEXT, path TEXT, version INTEGER, action TEXT, content TEXT, actor TEXT,
    created_at TEXT, redacted INTEGER, format INTEGER DEFAULT 1, PRIMARY KEY (scope, path, version)
);
CREATE INDEX IF NOT EXISTS history ON versions (scope, created_at DESC, path, version DESC);
CREATE TABLE IF NOT EXISTS redactions (
    id INTEGER PRIMARY KEY, scope TEXT, path TEXT, actor TEXT, created_at TEXT, count INTEGER
);
CREATE TABLE IF NOT EXISTS turns (
    conversation_id TEXT, turn INTEGER, messages TEXT, searchable TEXT, created_at TEXT,
    actor TEXT, format INTEGER DEFAULT 1, PRIMARY KEY (conversation_id, turn)
);
CREATE TABLE IF NOT EXISTS projections (
    id INTEGER PRIMARY KEY, conversation_id TEXT, turn INTEGER, span INTEGER, kind TEXT,
    text TEXT, format INTEGER DEFAULT 1
);
CREATE INDEX IF NOT EXISTS entries ON projections (conversation_id, turn, span, id);
"""


@contextmanager
def answering() -> Iterator[None]:
    """A database that is locked, full, damaged or no database is a store that is away."""
    try:
        yield
    except (sqlite3.DataError, sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise  # what was asked is at fault, not the file
    except sqlite3.DatabaseError as error:
        raise StoreUnavailableError(str(error)) from error


@contextmanager
def open_store(file: Path, *, clock: Clock = SYSTEM_CLOCK) -> Iterator["SqliteStore"]:
    with answering():
        db = sqlite3.connect(file, isolation_level=None)
    with closing(db):
        db.row_factory = sqlite3.Row
        with answering():
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(TABLES)
        yield SqliteStore(db, clock=clock)


class SqliteStore:
    """Documents and conversations in one file; a call is atomic among all that have it open."""

    supports_optimistic_concurrency: ClassVar[bool] = True

    def __init__(self, db: sqlite3.Connection, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.db = db
        self._clock = clock

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of the block or nothing, and nobody else's writing in between."""
        with answering():
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.db.execute("COMMIT")
            except BaseException:
                # A full disk has ended it already.
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise

    def _rows(self, statement: str, values: Sequence[object]) -> list[sqlite3.Row]:
        with answering():
            return self.db.execute(statement, values).fetchall()

    def _stamp(self, *rows: sqlite3.Row | None) -> datetime:
        """One reading of the clock, or the newest stamp of the rows when that is later."""
        now = _utc(self._clock.now())
        return max([now, *(_moment(row["newest_at"]) for row in rows if row is not None)])

    def _head(self, scope: str, path: str) -> sqlite3.Row | None:
        """What is known of a path, live or deleted; its row is never removed."""
        found = self._rows("SELECT * FROM documents WHERE scope = ? AND path = ?", (scope, path))
        return found[0] if found else None

    def _put(self, document: MemoryDocument, *, action: str) -> None:
        """Add the version and make it the path's newest; a deleted one is live no more."""
        live, stamp = action != "deleted", _text(document.updated_at)
        name = (document.scope, document.path, document.version)
        self.db.execute(
            "INSERT INTO versions (scope, path, version, action, content, actor, created_at,"
            " redacted) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*name, action, document.content, document.actor, stamp, document.redacted),
        )
        self.db.execute(
            "INSERT OR REPLACE INTO documents (scope, path, version, live, content, created_at,"
            " updated_at, newest_at, actor, redacted, extra)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *name,
                live,
                document.content if live else "",
                _text(document.created_at),
                stamp,
                stamp,
                document.actor,
                document.redacted,
                json.dumps(document.extra if live else {}),
            ),
        )

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        check_scope(scope)
        check_path(path)
        return _live(self._head(scope, path))

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
    ) -> MemoryDocument:
        check_scope(scope)
        check_path(path)
        with self._transaction():
            head = self._head(scope, path)
            live = _live(head)
            if expected_version is not None:
                _require_version(scope, path, live, expected_version)
            now = self._stamp(head)
            document = MemoryDocument(
                scope=scope,
                path=path,
                content=content,
                version=_next_version(head),
                created_at=now if live is None else live.created_at,
                updated_at=now,
                actor=actor,
                extra={} if live is None else live.extra,
            )
            self._put(document, action="created" if live is None else "modified")
        return document

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        check_scope(scope)
        check_path(path)
        with self._transaction():
            head = self._head(scope, path)
            live = _live(head)
            if head is None or live is None:
                return False
            self._remove(live, actor=actor, now=self._stamp(head))
        return True

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        check_scope(scope)
        check_path(src)
        check_path(dst)
        with self._transaction():
            source, target = self._head(scope, src), self._head(scope, dst)
            if source is None or not source["live"]:
                raise DocumentNotFoundError(scope=scope, path=src)
            if target is not None and target["live"]:
                raise MemoryConflictError(scope=scope, path=dst, reason="destination_exists")
            live = _document(source)
            now = self._stamp(source, target)
            self._remove(live, actor=actor, now=now)
            moved = MemoryDocument(
                scope=scope,
                path=dst,
                content=live.content,
                version=_next_version(target),
                created_at=now,
                updated_at=now,
                actor=actor,
                redacted=live.redacted,
                extra=live.extra,
            )
            self._put(moved, action="created")
        return moved

    def _remove(self, live: MemoryDocument, *, actor: str | None, now: datetime) -> None:
        gone = MemoryDocument(
            scope=live.scope,
            path=live.path,
            content=live.content,
            version=live.version + 1,
            created_at=live.created_at,
            updated_at=now,
            actor=actor,
            redacted=live.redacted,
        )
        self._put(gone, action="deleted")

    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        check_scope(scope)
        if path is not None:
            check_path(path)
        where, names = "scope = ?", [scope]
        if path is not None:
            where, names = "scope = ? AND path = ?", [scope, path]
        with self._transaction():
            heads = self._rows(f"SELECT * FROM documents WHERE {where}", names)
            if not heads:
                return 0
            stamp = _text(self._stamp(*heads))
            self.db.execute(
                f"UPDATE documents SET content = '', redacted = 1, newest_at = ? WHERE {where}",
                (stamp, *names),
            )
            self.db.execute(f"UPDATE versions SET content = '', redacted = 1 WHERE {where}", names)
            self.db.execute(
                "INSERT INTO redactions (scope, path, actor, created_at, count)"
                " VALUES (?, ?, ?, ?, ?)",
                (scope, path, actor, stamp, len(heads)),
            )
        return len(heads)

    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        check_scope(scope)
        rows = self._rows(
            "SELECT * FROM documents WHERE scope = ? AND live ORDER BY path", (scope,)
        )
        return tuple(_entry(row) for row in rows if row["path"].startswith(prefix))

    async def versions(
        self, scope: str, path: str, *, limit: int = 50
    ) -> tuple[MemoryVersion, ...]:
        check_scope(scope)
        check_path(path)
        rows = self._rows(
            "SELECT * FROM versions WHERE scope = ? AND path = ? ORDER BY version DESC LIMIT ?",
            (scope, path, _bound(limit)),
        )
        return tuple(map(_version, rows))

    async def history(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryVersion, ...]:
        check_scope(scope)
        rows = self._rows(
            "SELECT * FROM versions WHERE scope = ? AND created_at >= ?"
            " ORDER BY created_at DESC, path, version DESC LIMIT ?",
            (scope, _start(since), _bound(limit)),
        )
        return tuple(map(_version, rows))

    async def redactions(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryRedaction, ...]:
        check_scope(scope)
        rows = self._rows(
            "SELECT * FROM redactions WHERE scope = ? AND created_at >= ?"
            " ORDER BY created_at DESC, id DESC LIMIT ?",
            (scope, _start(since), _bound(limit)),
        )
        return tuple(map(_redaction, rows))

    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        check_conversation_id(conversation_id)
        if not messages:
            raise ValueError("a turn must carry at least one message")
        with self._transaction():
            last = self._rows(
                "SELECT turn, created_at AS newest_at FROM turns WHERE conversation_id = ?"
                " ORDER BY turn DESC LIMIT 1",
                (conversation_id,),
            )
            turn = ConversationTurn(
                conversation_id=conversation_id,
                turn=last[0]["turn"] + 1 if last else 1,
                messages=settle_messages(messages),
                created_at=self._stamp(*last),
                actor=actor,
            )
            self.db.execute(
                "INSERT INTO turns (conversation_id, turn, messages, searchable, created_at, actor)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    conversation_id,
                    turn.turn,
                    encode_messages(turn.messages).decode(),
                    fold(turn_text(turn.messages)),
                    _text(turn.created_at),
                    actor,
                ),
            )
        return turn

    async def read_turns(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationTurn, ...]:
        check_conversation_id(conversation_id)
        rows = self._rows(
            "SELECT * FROM turns WHERE conversation_id = ? AND turn > ? ORDER BY turn LIMIT ?",
            (conversation_id, *_window(after, limit)),
        )
        return tuple(map(_turn, rows))

    async def last_turn_number(self, conversation_id: str) -> int:
        check_conversation_id(conversation_id)
        (row,) = self._rows(
            "SELECT max(turn) AS last FROM turns WHERE conversation_id = ?", (conversation_id,)
        )
        return row["last"] or 0

    async def search_turns(
        self, query: str, *, conversations: Sequence[str] | None = None, limit: int = 50
    ) -> tuple[ConversationTurn, ...]:
        terms = query_terms(query)
        for conversation_id in conversations or ():
            check_conversation_id(conversation_id)
        if limit < 1:
            raise ValueError(f"limit must be >= 1, got {limit}")
        if "\0" in query:
            # No text has one, and to json_each a term would end there.
            return ()
        where = "NOT EXISTS (SELECT 1 FROM json_each(?) WHERE NOT instr(searchable, value))"
        chosen = [json.dumps(terms, ensure_ascii=False)]
        if conversations is not None:
            where += " AND conversation_id IN (SELECT value FROM json_each(?))"
            chosen.append(json.dumps(list(conversations)))
        rows = self._rows(
            f"SELECT * FROM turns WHERE {where}"
            " ORDER BY created_at DESC, conversation_id DESC, turn DESC LIMIT ?",
            (*chosen, _bound(limit)),
        )
        return tuple(map(_turn, rows))

    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        check_conversation_id(conversation_id)
        for entry in entries:
            if entry.turn > LARGEST_TURN:
                raise ValueError(f"parameter 'turn' must be at most {LARGEST_TURN}")
        with self._transaction():
            self.db.executemany(
                "INSERT INTO projections (conversation_id, turn, span, kind, text)"
                " VALUES (?, ?, ?, ?, ?)",
                [(conversation_id, one.turn, one.span, one.kind, one.text) for one in entries],
            )

    async def read_projections(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationProjection, ...]:
        check_conversation_id(conversation_id)
        rows = self._rows(
            "SELECT * FROM projections WHERE conversation_id = ? AND turn > ?"
            " ORDER BY turn, span, id LIMIT ?",
            (conversation_id, *_window(after, limit)),
        )
        return tuple(map(_projection, rows))


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"a stamp must be timezone-aware, got {moment.isoformat()}")
    return moment.astimezone(UTC)


def _text(moment: datetime) -> str:
    """As stored: text of one width, so that its order is the order of time."""
    return moment.isoformat(timespec="microseconds")


def _moment(stored: str) -> datetime:
    return datetime.fromisoformat(stored)


def _start(since: datetime | None) -> str:
    return "" if since is None else _text(_utc(since))


def _bound(limit: int | None) -> int:
    """A LIMIT for SQLite, to which -1 is none."""
    if limit is None:
        return -1
    if limit < 0:
        raise ValueError("limit must be >= 0")
    return min(limit, LARGEST_INTEGER)


def _window(after: int, limit: int | None) -> tuple[int, int]:
    if after < 0:
        raise ValueError(f"after must be >= 0, got {after}")
    if limit is not None and limit < 0:
        raise ValueError(f"limit must be >= 0, got {limit}")
    return min(after, LARGEST_INTEGER), _bound(limit)


def _next_version(head: sqlite3.Row | None) -> int:
    return 1 if head is None else head["version"] + 1


def _require_version(scope: str, path: str, live: MemoryDocument | None, expected: int) -> None:
    if live is not None and live.version == expected:
        return
    raise MemoryConflictError(
        scope=scope,
        path=path,
        reason="document_absent" if live is None else "version_mismatch",
        expected_version=expected,
        actual_version=None if live is None else live.version,
    )


def _require_memory_format(row: sqlite3.Row) -> None:
    if row["format"] != FORMAT:
        reason = f"format {row['format']} is newer than {FORMAT}"
        raise MemoryFormatError(scope=row["scope"], path=row["path"], reason=reason)


def _live(head: sqlite3.Row | None) -> MemoryDocument | None:
    return _document(head) if head is not None and head["live"] else None


def _document(row: sqlite3.Row) -> MemoryDocument:
    _require_memory_format(row)
    return MemoryDocument(
        scope=row["scope"],
        path=row["path"],
        content=row["content"],
        version=row["version"],
        created_at=_moment(row["created_at"]),
        updated_at=_moment(row["updated_at"]),
        actor=row["actor"],
        redacted=bool(row["redacted"]),
        extra=json.loads(row["extra"]),
    )


def _entry(row: sqlite3.Row) -> MemoryEntry:
    _require_memory_format(row)
    return MemoryEntry(
        path=row["path"],
        version=row["version"],
        created_at=_moment(row["created_at"]),
        updated_at=_moment(row["updated_at"]),
        redacted=bool(row["redacted"]),
    )


def _version(row: sqlite3.Row) -> MemoryVersion:
    _require_memory_format(row)
    return MemoryVersion(
        path=row["path"],
        version=row["version"],
        action=row["action"],
        content=row["content"],
        actor=row["actor"],
        created_at=_moment(row["created_at"]),
        redacted=bool(row["redacted"]),
    )


def _redaction(row: sqlite3.Row) -> MemoryRedaction:
    return MemoryRedaction(
        path=row["path"],
        actor=row["actor"],
        created_at=_moment(row["created_at"]),
        count=row["count"],
    )


def _turn(row: sqlite3.Row) -> ConversationTurn:
    _require_conversation_format(row)
    try:
        messages = load_messages(row["messages"].encode())
    except ValueError as error:
        raise _unreadable(row, f"turn row {row['turn']} has no message array") from error
    return ConversationTurn(
        conversation_id=row["conversation_id"],
        turn=row["turn"],
        messages=messages,
        created_at=_moment(row["created_at"]),
        actor=row["actor"],
    )


def _projection(row: sqlite3.Row) -> ConversationProjection:
    _require_conversation_format(row)
    try:
        return ConversationProjection(
            turn=row["turn"], span=row["span"], kind=row["kind"], text=row["text"]
        )
    except ValueError as error:
        raise _unreadable(row, str(error)) from error


def _require_conversation_format(row: sqlite3.Row) -> None:
    if row["format"] != FORMAT:
        raise _unreadable(row, f"format {row['format']} is newer than {FORMAT}")


def _unreadable(row: sqlite3.Row, reason: str) -> ConversationFormatError:
    return ConversationFormatError(conversation_id=row["conversation_id"], reason=reason)


class Subject:
    """What the kits ask for: a fresh store a test, and rows that no method can make."""

    @pytest.fixture
    def store(self, tmp_path: Path, clock: ControlledClock) -> Iterator[SqliteStore]:
        with open_store(tmp_path / "store.db", clock=clock) as store:
            store.db.execute("PRAGMA synchronous = OFF")  # a test need not survive a power cut
            yield store

    async def plant_newer_document(self, store: SqliteStore, scope: str, path: str) -> None:
        for table in ("documents", "versions"):
            store.db.execute(
                f"UPDATE {table} SET format = 2 WHERE scope = ? AND path = ?", (scope, path)
            )

    async def plant_newer_version(
        self, store: SqliteStore, scope: str, path: str, version: int
    ) -> None:
        store.db.execute(
            "UPDATE versions SET format = 2 WHERE scope = ? AND path = ? AND version = ?",
            (scope, path, version),
        )

    async def plant_extra(
        self, store: SqliteStore, scope: str, path: str, extra: Mapping[str, Any]
    ) -> None:
        store.db.execute(
            "UPDATE documents SET extra = ? WHERE scope = ? AND path = ?",
            (json.dumps(extra), scope, path),
        )

    async def plant_newer_turn(self, store: SqliteStore, conversation_id: str, turn: int) -> None:
        self._plant(store, "UPDATE turns SET format = 2", conversation_id, turn)

    async def plant_malformed_turn(
        self, store: SqliteStore, conversation_id: str, turn: int
    ) -> None:
        self._plant(store, "UPDATE turns SET messages = '{}'", conversation_id, turn)

    async def plant_newer_projection(
        self, store: SqliteStore, conversation_id: str, turn: int
    ) -> None:
        self._plant(store, "UPDATE projections SET format = 2", conversation_id, turn)

    async def plant_malformed_projection(
        self, store: SqliteStore, conversation_id: str, turn: int
    ) -> None:
        self._plant(store, "UPDATE projections SET kind = 'rumour'", conversation_id, turn)

    def _plant(self, store: SqliteStore, change: str, conversation_id: str, turn: int) -> None:
        store.db.execute(
            f"{change} WHERE conversation_id = ? AND turn = ?", (conversation_id, turn)
        )


class TestDocuments(Subject, MemoryStoreContract):
    pass


class TestConversations(Subject, ConversationStoreContract):
    pass
