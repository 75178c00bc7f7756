"""Everything that changes something, checked at the door and handed to a runner.

The runner says under what the change happens: alone on a connection (the store itself),
or in one transaction with the fence of a claim and an idempotency key (a guarded view).
The rules are written once, here, for both.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from commonhold.adapters.postgres import checks
from commonhold.adapters.postgres.claims import PostgresClaims
from commonhold.adapters.postgres.conditions import Conditions
from commonhold.adapters.postgres.connections import transaction
from commonhold.adapters.postgres.documents import Documents
from commonhold.adapters.postgres.keys import Keys, Subject
from commonhold.adapters.postgres.pool import Pool
from commonhold.adapters.postgres.turns import Turns
from commonhold.adapters.postgres.units import Units
from commonhold.contract.archives import landed_conversation, landed_scope
from commonhold.contract.claims import Claim
from commonhold.contract.documents import MemoryDocument, ScopeArchive
from commonhold.contract.idempotency import IdempotencyKey
from commonhold.contract.ids import check_conversation_id, check_path, check_scope
from commonhold.contract.limits import require_selectors
from commonhold.contract.messages import Message, settle_messages
from commonhold.contract.stores import Witness
from commonhold.contract.text import require_storable, require_storable_tree
from commonhold.contract.turns import (
    ConversationArchive,
    ConversationProjection,
    ConversationTurn,
)
from commonhold.migrations.connections import Connection

T = TypeVar("T")
Act = Callable[[Connection], Awaitable[T]]


class Runner(Protocol):
    """Runs one mutation on a connection of the pool."""

    async def __call__(self, subject: Subject, act: Act[T]) -> T: ...


class DirectRunner:
    """The mutation alone."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def __call__(self, subject: Subject, act: Act[T]) -> T:  # noqa: ARG002 - Runner's
        async with self._pool.connection() as conn:
            return await act(conn)


class FencedRunner:
    """The mutation in a transaction that holds its claim."""

    def __init__(self, pool: Pool, claims: PostgresClaims, *, fence: Claim) -> None:
        self._pool = pool
        self._claims = claims
        self._fence = fence

    async def __call__(self, subject: Subject, act: Act[T]) -> T:  # noqa: ARG002 - Runner's
        async with self._pool.connection() as conn, transaction(conn):
            await self._claims.hold(conn, self._fence)
            return await act(conn)


class KeyedRunner:
    """The mutation in the transaction of its key, or the answer given under the key before.

    The fence, where there is one, is held before the key is looked at.
    """

    def __init__(
        self,
        pool: Pool,
        keys: Keys,
        claims: PostgresClaims,
        *,
        key: IdempotencyKey,
        digest: bytes,
        fence: Claim | None,
    ) -> None:
        self._pool = pool
        self._keys = keys
        self._claims = claims
        self._key = key
        self._digest = digest
        self._fence = fence

    async def __call__(self, subject: Subject, act: Act[T]) -> T:
        async with self._pool.connection() as conn:
            return await self._keys.once(
                conn,
                key=self._key,
                digest=self._digest,
                subject=subject,
                hold=self._hold,
                act=act,
            )

    async def _hold(self, conn: Connection) -> None:
        if self._fence is not None:
            await self._claims.hold(conn, self._fence)


class PostgresMutations:
    """`Mutations` and `Conditional` of the contract over a runner."""

    def __init__(
        self,
        run: Runner,
        *,
        documents: Documents,
        conditions: Conditions,
        turns: Turns,
        units: Units,
    ) -> None:
        self._run = run
        self._documents = documents
        self._conditions = conditions
        self._turns = turns
        self._units = units

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
        require_storable(content, name="content")
        _check_actor_text(actor)
        return await self._run(
            Subject(operation="write", scope=scope, path=path),
            lambda conn: self._documents.write(
                conn, scope, path, content, actor=actor, expected_version=expected_version
            ),
        )

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        check_scope(scope)
        check_path(path)
        _check_actor_text(actor)
        return await self._run(
            Subject(operation="delete", scope=scope, path=path),
            lambda conn: self._documents.delete(conn, scope, path, actor=actor),
        )

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        check_scope(scope)
        check_path(src)
        check_path(dst)
        _check_actor_text(actor)
        return await self._run(
            Subject(operation="rename", scope=scope, path=dst),
            lambda conn: self._documents.rename(conn, scope, src, dst, actor=actor),
        )

    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        check_scope(scope)
        check_path(path)
        require_storable(content, name="content")
        _check_actor_text(actor)
        return await self._run(
            Subject(operation="create_if_absent", scope=scope, path=path),
            lambda conn: self._documents.create(conn, scope, path, content, actor=actor),
        )

    async def delete_if(
        self,
        scope: str,
        path: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> int:
        check_scope(scope)
        _check_paths(path, witnesses=witnesses)
        _check_actor_text(actor)
        return await self._run(
            Subject(operation="delete_if", scope=scope, path=path),
            lambda conn: self._conditions.delete(
                conn,
                scope,
                path,
                expected_version=expected_version,
                witnesses=witnesses,
                actor=actor,
            ),
        )

    async def rename_if(
        self,
        scope: str,
        src: str,
        dst: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> MemoryDocument:
        check_scope(scope)
        _check_paths(src, dst, witnesses=witnesses)
        _check_actor_text(actor)
        return await self._run(
            Subject(operation="rename_if", scope=scope, path=dst),
            lambda conn: self._conditions.rename(
                conn,
                scope,
                src,
                dst,
                expected_version=expected_version,
                witnesses=witnesses,
                actor=actor,
            ),
        )

    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        check_scope(scope)
        if path is not None:
            check_path(path)
        _check_actor_text(actor)
        return await self._run(
            # A digest of no content needs no forgetting, least of all by its own redaction.
            Subject(operation="redact"),
            lambda conn: self._documents.redact(conn, scope, path=path, actor=actor),
        )

    async def redact_if(
        self, scope: str, path: str, *, expected_version: int, actor: str | None = None
    ) -> None:
        check_scope(scope)
        check_path(path)
        _check_actor_text(actor)
        await self._run(
            Subject(operation="redact_if"),
            lambda conn: self._conditions.redact(
                conn, scope, path, expected_version=expected_version, actor=actor
            ),
        )

    async def restore_scope(self, archive: ScopeArchive) -> None:
        landed = landed_scope(archive)
        await self._run(
            Subject(operation="restore_scope", scope=archive.scope),
            lambda conn: self._units.restore_scope(conn, landed),
        )

    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        check_conversation_id(conversation_id)
        if not messages:
            raise ValueError("a turn must carry at least one message")
        turn_messages = settle_messages(messages)
        require_storable_tree(turn_messages, name="messages")
        _check_actor_text(actor)
        return await self._run(
            Subject(operation="append_turn", conversation_id=conversation_id),
            lambda conn: self._turns.append(conn, conversation_id, turn_messages, actor=actor),
        )

    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        check_conversation_id(conversation_id)
        for entry in entries:
            require_storable(entry.text, name="text")
            checks.number(entry.turn, name="turn")

        async def append(conn: Connection) -> None:
            if entries:
                await self._turns.append_projections(conn, conversation_id, entries)

        # An empty batch writes nothing, but it uses its key as any other.
        await self._run(
            Subject(operation="append_projections", conversation_id=conversation_id), append
        )

    async def redact_turns(
        self,
        conversation_id: str,
        *,
        through: int | None = None,
        turns: Sequence[int] | None = None,
        actor: str | None = None,
    ) -> int:
        check_conversation_id(conversation_id)
        require_selectors(through=through, turns=turns)
        _check_actor_text(actor)
        return await self._run(
            Subject(operation="redact_turns"),
            lambda conn: self._turns.redact(
                conn, conversation_id, through=through, turns=turns, actor=actor
            ),
        )

    async def restore_conversation(self, archive: ConversationArchive) -> None:
        landed = landed_conversation(archive)
        await self._run(
            Subject(operation="restore_conversation", conversation_id=archive.conversation_id),
            lambda conn: self._units.restore_conversation(conn, landed),
        )


def _check_paths(*paths: str, witnesses: Sequence[Witness]) -> None:
    for path in (*paths, *(witness for witness, _ in witnesses)):
        check_path(path)


def _check_actor_text(actor: str | None) -> None:
    if actor is not None:
        require_storable(actor, name="actor")
