"""The view under a key or a fence (docs/reference/stores.md, sections 12 and 17)."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from commonhold.adapters.in_memory.answers import Answers, Names, Once
from commonhold.adapters.in_memory.claims import InMemoryClaims
from commonhold.adapters.in_memory.conversations import Conversations
from commonhold.adapters.in_memory.documents import Documents
from commonhold.contract.claims import Claim
from commonhold.contract.documents import MemoryDocument, ScopeArchive
from commonhold.contract.idempotency import IdempotencyKey, Remembered
from commonhold.contract.messages import Message
from commonhold.contract.stores import Witness
from commonhold.contract.turns import (
    ConversationArchive,
    ConversationProjection,
    ConversationTurn,
)

T = TypeVar("T")


class Guard:
    """What the mutations of one view stand under: a claim first, then a key."""

    def __init__(
        self,
        answers: Answers,
        claims: InMemoryClaims,
        *,
        key: IdempotencyKey | None,
        digest: bytes,
        fence: Claim | None,
    ) -> None:
        self._answers = answers
        self._claims = claims
        self._key = key
        self._digest = digest
        self._fence = fence

    def run(self, once: Once[T]) -> T:
        if self._fence is not None:
            self._claims.require_standing(self._fence)
        if self._key is None:
            return once.act()
        return self._answers.once(once, key=self._key, digest=self._digest)


class GuardedView:
    """The mutations of a store under a guard."""

    def __init__(self, documents: Documents, conversations: Conversations, *, guard: Guard) -> None:
        self._documents = documents
        self._conversations = conversations
        self._once = guard.run

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
    ) -> MemoryDocument:
        return self._once(
            Once(
                operation="write",
                act=lambda: self._documents.write(
                    scope, path, content, actor=actor, expected_version=expected_version
                ),
                names=lambda made: _document_names(made, operation="write", paths=(path,)),
                replay=self._tell_document,
            )
        )

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        return self._once(
            Once(
                operation="delete",
                act=lambda: self._documents.delete(scope, path, actor=actor),
                names=lambda deleted: Names(
                    operation="delete", scope=scope, paths=(path,), count=int(deleted)
                ),
                replay=lambda names: names.count == 1,
            )
        )

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        return self._once(
            Once(
                operation="rename",
                act=lambda: self._documents.rename(scope, src, dst, actor=actor),
                names=lambda made: _document_names(made, operation="rename", paths=(dst,)),
                replay=self._tell_document,
            )
        )

    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        return self._once(
            Once(
                operation="create_if_absent",
                act=lambda: self._documents.create_if_absent(scope, path, content, actor=actor),
                names=lambda made: _document_names(
                    made, operation="create_if_absent", paths=(path,)
                ),
                replay=self._tell_document,
            )
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
        return self._once(
            Once(
                operation="delete_if",
                act=lambda: self._documents.delete_if(
                    scope, path, expected_version=expected_version, witnesses=witnesses, actor=actor
                ),
                names=lambda number: Names(
                    operation="delete_if", scope=scope, paths=(path,), count=number
                ),
                replay=lambda names: names.count,
            )
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
        return self._once(
            Once(
                operation="rename_if",
                act=lambda: self._documents.rename_if(
                    scope,
                    src,
                    dst,
                    expected_version=expected_version,
                    witnesses=witnesses,
                    actor=actor,
                ),
                names=lambda made: _document_names(made, operation="rename_if", paths=(dst,)),
                replay=self._tell_document,
            )
        )

    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        return self._once(
            Once(
                operation="redact",
                act=lambda: self._documents.redact(scope, path=path, actor=actor),
                # An erasure names nothing: its own digest covers no content.
                names=lambda count: Names(operation="redact", count=count),
                replay=lambda names: names.count,
            )
        )

    async def redact_if(
        self, scope: str, path: str, *, expected_version: int, actor: str | None = None
    ) -> None:
        self._once(
            Once(
                operation="redact_if",
                act=lambda: self._documents.redact_if(
                    scope, path, expected_version=expected_version, actor=actor
                ),
                names=lambda _: Names(operation="redact_if"),
                replay=_tell_nothing,
            )
        )

    async def restore_scope(self, archive: ScopeArchive) -> None:
        self._once(
            Once(
                operation="restore_scope",
                act=lambda: self._documents.restore(archive),
                names=lambda _: Names(operation="restore_scope", scope=archive.scope),
                replay=_tell_nothing,
            )
        )

    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        return self._once(
            Once(
                operation="append_turn",
                act=lambda: self._conversations.append_turn(conversation_id, messages, actor=actor),
                names=lambda made: Names(
                    operation="append_turn", conversation_id=conversation_id, turn=made.turn
                ),
                replay=self._tell_turn,
            )
        )

    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        self._once_in(
            conversation_id,
            operation="append_projections",
            act=lambda: self._conversations.append_projections(conversation_id, entries),
        )

    async def redact_turns(
        self,
        conversation_id: str,
        *,
        through: int | None = None,
        turns: Sequence[int] | None = None,
        actor: str | None = None,
    ) -> int:
        return self._once(
            Once(
                operation="redact_turns",
                act=lambda: self._conversations.redact_turns(
                    conversation_id, through=through, turns=turns, actor=actor
                ),
                names=lambda count: Names(operation="redact_turns", count=count),
                replay=lambda names: names.count,
            )
        )

    async def restore_conversation(self, archive: ConversationArchive) -> None:
        self._once_in(
            archive.conversation_id,
            operation="restore_conversation",
            act=lambda: self._conversations.restore(archive),
        )

    def tell(self, names: Names) -> Remembered:
        """The answer that the names stand for, whatever mutation gave it."""
        if names.version is not None:
            return Remembered(names.operation, self._tell_document(names))
        if names.turn is not None:
            return Remembered(names.operation, self._tell_turn(names))
        if names.operation == "delete":
            return Remembered(names.operation, names.count == 1)
        counts = names.operation in {"delete_if", "redact", "redact_turns"}
        return Remembered(names.operation, names.count if counts else None)

    def _once_in(self, conversation_id: str, *, operation: str, act: Callable[[], None]) -> None:
        self._once(
            Once(
                operation=operation,
                act=act,
                names=lambda _: Names(operation=operation, conversation_id=conversation_id),
                replay=_tell_nothing,
            )
        )

    def _tell_document(self, names: Names) -> MemoryDocument:
        if names.scope is None or names.version is None or names.created_at is None:
            raise LookupError(f"the answer of {names.operation} names no version")
        row = self._documents.version(names.scope, names.paths[0], version=names.version)
        return MemoryDocument(
            scope=names.scope,
            path=row.path,
            content=row.content,
            version=row.version,
            created_at=names.created_at,
            updated_at=row.created_at,
            actor=row.actor,
            redacted=row.redacted,
            extra=names.extra,
        )

    def _tell_turn(self, names: Names) -> ConversationTurn:
        if names.conversation_id is None or names.turn is None:
            raise LookupError(f"the answer of {names.operation} names no turn")
        return self._conversations.turn(names.conversation_id, turn=names.turn)


def _document_names(made: MemoryDocument, *, operation: str, paths: tuple[str, ...]) -> Names:
    return Names(
        operation=operation,
        scope=made.scope,
        paths=paths,
        version=made.version,
        created_at=made.created_at,
        extra=made.extra,
    )


def _tell_nothing(_names: Names) -> None:
    return None
