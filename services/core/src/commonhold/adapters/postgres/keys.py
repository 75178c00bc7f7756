"""Mutations under an idempotency key (docs/reference/stores.md, section "Guarded").

The key's row, the mutation and the remembered answer are one transaction. What is
remembered holds no content: a replay reads the version or the turn it names, as it is now.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

import asyncpg
import msgspec

from commonhold.adapters.postgres.connections import transaction
from commonhold.adapters.postgres.documents import Documents
from commonhold.adapters.postgres.statements import KeyStatements
from commonhold.adapters.postgres.turns import Turns
from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.documents import MemoryDocument
from commonhold.contract.idempotency import KEY_LIFETIME, KEY_REUSED, IdempotencyKey, Remembered
from commonhold.contract.turns import ConversationTurn
from commonhold.migrations.connections import Connection
from commonhold.migrations.timeouts import milliseconds

_SWEEP_BATCH = 500
# In characters, of up to four bytes each.
_LONGEST_CLIENT = 512

T = TypeVar("T")


class DocumentAnswer(msgspec.Struct, frozen=True, tag="document"):
    """The written document without its content."""

    operation: str
    scope: str
    path: str
    version: int
    created_at: datetime
    updated_at: datetime
    actor: str | None
    extra: Mapping[str, Any]


class TurnAnswer(msgspec.Struct, frozen=True, tag="turn"):
    operation: str
    conversation_id: str
    turn: int


class PlainAnswer(msgspec.Struct, frozen=True, tag="plain"):
    """A flag, a count, or nothing."""

    operation: str
    value: bool | int | None


Answer: TypeAlias = DocumentAnswer | TurnAnswer | PlainAnswer
_answers = msgspec.json.Decoder(Answer)
_encoder = msgspec.json.Encoder()


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What a mutation does and touches, so that an erasure finds the digests that cover it."""

    operation: str
    scope: str | None = None
    path: str | None = None
    conversation_id: str | None = None


class _ExpiredKeyError(Exception):
    """Leaves the transaction of a key that was remembered before `expired`."""

    def __init__(self, expired: datetime) -> None:
        super().__init__()
        self.expired = expired


class Keys:
    """Runs mutations under keys, on connections given by the store."""

    def __init__(
        self,
        sql: KeyStatements,
        *,
        documents: Documents,
        turns: Turns,
        clock: Clock,
        wait_seconds: float,
    ) -> None:
        self._sql = sql
        self._lock_wait = {"lock_timeout": milliseconds(wait_seconds)}
        self._documents = documents
        self._turns = turns
        self._clock = clock
        self.replays = 0

    async def once(
        self,
        conn: Connection,
        *,
        key: IdempotencyKey,
        digest: bytes,
        subject: Subject,
        hold: Callable[[Connection], Awaitable[None]],
        act: Callable[[Connection], Awaitable[T]],
    ) -> T:
        """The answer of `act`, from a call of it now or from the one remembered.

        `hold` takes the locks that come before the key. Raises ValueError for a key that
        was used with another digest; whatever `hold` or `act` raises rolls the key back, so
        that only successes are remembered.
        """
        while True:
            try:
                return await self._try(
                    conn, key=key, digest=digest, subject=subject, hold=hold, act=act
                )
            except _ExpiredKeyError as found:
                # In a transaction of its own: an erasure takes keys after heads, so nobody
                # may wait for a head with a key in hand that others can see.
                await conn.execute(self._sql.delete_key, *_place(key), found.expired)

    async def _try(
        self,
        conn: Connection,
        *,
        key: IdempotencyKey,
        digest: bytes,
        subject: Subject,
        hold: Callable[[Connection], Awaitable[None]],
        act: Callable[[Connection], Awaitable[T]],
    ) -> T:
        # Whoever holds the key is waited for as long as for a connection.
        async with transaction(conn, settings=self._lock_wait):
            await hold(conn)
            remembered = await self._claim(conn, key=key, digest=digest, subject=subject)
            if remembered is not None:
                self.replays += 1
                replayed: T = await self._replay(conn, remembered)
                return replayed
            result = await act(conn)
            await self._remember(conn, key, _answer(result, operation=subject.operation))
            return result

    async def recall(
        self, conn: Connection, *, key: IdempotencyKey, digest: bytes
    ) -> Remembered | None:
        row = await conn.fetchrow(self._sql.select_key, key.client, key.value)
        if row is None or row["created_at"] < read_clock(self._clock) - KEY_LIFETIME:
            return None
        answer = _same_request(row, digest=digest, operation=None)
        self.replays += 1
        return Remembered(answer.operation, await self._replay(conn, answer))

    async def sweep(self, conn: Connection) -> int:
        """Delete one batch of expired keys, leaving those that others work on."""
        expired = read_clock(self._clock) - KEY_LIFETIME
        return int(await conn.fetchval(self._sql.sweep_keys, expired, _SWEEP_BATCH))

    async def _claim(
        self, conn: Connection, *, key: IdempotencyKey, digest: bytes, subject: Subject
    ) -> Answer | None:
        """None once the key is ours, else the answer that was given under it."""
        now = read_clock(self._clock)
        expired = now - KEY_LIFETIME
        place = (subject.scope, subject.path, subject.conversation_id)
        while True:
            claimed = await conn.fetchval(self._sql.insert_key, *_place(key), digest, now, *place)
            if claimed is not None:
                return None
            # A statement that waited for the key does not see it: read it in a new one.
            row = await conn.fetchrow(self._sql.select_key, *_place(key))
            if row is not None:
                if row["created_at"] < expired:
                    raise _ExpiredKeyError(expired)
                return _same_request(row, digest=digest, operation=subject.operation)

    async def _remember(self, conn: Connection, key: IdempotencyKey, answer: Answer) -> None:
        turn = answer.turn if isinstance(answer, TurnAnswer) else None
        await conn.execute(
            self._sql.store_answer, *_place(key), _encoder.encode(answer).decode(), turn
        )

    async def _replay(self, conn: Connection, answer: Answer) -> Any:
        if isinstance(answer, DocumentAnswer):
            return await self._replay_document(conn, answer)
        if isinstance(answer, TurnAnswer):
            return await self._turns.get_turn(conn, answer.conversation_id, answer.turn)
        return answer.value

    async def _replay_document(self, conn: Connection, answer: DocumentAnswer) -> MemoryDocument:
        version = await self._documents.get_version(conn, answer.scope, answer.path, answer.version)
        if version is None:
            raise AssertionError("a remembered version is missing from the ledger")
        return MemoryDocument(
            scope=answer.scope,
            path=answer.path,
            content=version.content,
            version=answer.version,
            created_at=answer.created_at,
            updated_at=answer.updated_at,
            actor=answer.actor,
            redacted=version.redacted,
            extra=answer.extra,
        )


def _place(key: IdempotencyKey) -> tuple[str, str]:
    """The key's columns. A long client goes by its digest: an index row has 2,700 bytes.

    No actor has `=`, so the digest is no other's name.
    """
    client = key.client
    if len(client) > _LONGEST_CLIENT:
        client = f"sha256={hashlib.sha256(client.encode()).hexdigest()}"
    return client, key.value


def _same_request(row: asyncpg.Record, *, digest: bytes, operation: str | None) -> Answer:
    """The remembered answer; a null digest, left by an erasure, matches any body."""
    answer = _answers.decode(row["answer"])
    if operation not in (None, answer.operation) or row["digest"] not in (None, digest):
        raise ValueError(KEY_REUSED)
    return answer


def _answer(result: object, *, operation: str) -> Answer:
    if isinstance(result, MemoryDocument):
        return DocumentAnswer(
            operation=operation,
            scope=result.scope,
            path=result.path,
            version=result.version,
            created_at=result.created_at,
            updated_at=result.updated_at,
            actor=result.actor,
            extra=result.extra,
        )
    if isinstance(result, ConversationTurn):
        return TurnAnswer(operation, result.conversation_id, result.turn)
    if result is None or isinstance(result, bool | int):
        return PlainAnswer(operation, result)
    raise TypeError(f"no remembered form for {type(result).__name__}")
