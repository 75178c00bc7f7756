"""Everything that changes something, checked at the door and sent.

The store has these methods, and so has its view under an idempotency key, which sends its
own headers with each.
"""

from collections.abc import Mapping, Sequence

from msgspec.json import Decoder

from commonhold.adapters.remote.callers import WireCaller
from commonhold.contract.archives import check_conversation_archive, check_scope_archive
from commonhold.contract.documents import MemoryDocument, ScopeArchive
from commonhold.contract.errors import CommonholdError
from commonhold.contract.ids import check_conversation_id, check_path, check_scope
from commonhold.contract.limits import require_selectors
from commonhold.contract.messages import Message
from commonhold.contract.turns import (
    ConversationArchive,
    ConversationProjection,
    ConversationTurn,
)
from commonhold.wire.answers import (
    CountAnswer,
    DeletedAnswer,
    DocumentAnswer,
    DoneAnswer,
    TurnAnswer,
)

_documents = Decoder(DocumentAnswer)
_deletions = Decoder(DeletedAnswer)
_counts = Decoder(CountAnswer)
_turns = Decoder(TurnAnswer)
_done = Decoder(DoneAnswer)


class RemoteMutations:
    """`Mutations` of the contract over one service."""

    def __init__(self, caller: WireCaller, *, headers: Mapping[str, str] | None = None) -> None:
        self._caller = caller
        self._headers = headers

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
        answer = await self._caller.mutate(
            "memory/write",
            {
                "scope": scope,
                "path": path,
                "content": content,
                "actor": actor,
                "expected_version": expected_version,
            },
            _documents,
            headers=self._headers,
        )
        return self._present("memory/write", answer)

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        check_scope(scope)
        check_path(path)
        answer = await self._caller.mutate(
            "memory/delete",
            {"scope": scope, "path": path, "actor": actor},
            _deletions,
            headers=self._headers,
        )
        return answer.deleted

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        check_scope(scope)
        check_path(src)
        check_path(dst)
        answer = await self._caller.mutate(
            "memory/rename",
            {"scope": scope, "src": src, "dst": dst, "actor": actor},
            _documents,
            headers=self._headers,
        )
        return self._present("memory/rename", answer)

    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        check_scope(scope)
        if path is not None:
            check_path(path)
        answer = await self._caller.mutate(
            "memory/redact",
            {"scope": scope, "path": path, "actor": actor},
            _counts,
            headers=self._headers,
            is_patient=True,
        )
        return answer.count

    async def restore_scope(self, archive: ScopeArchive) -> None:
        # What JSON would make something else of is refused here, since the service cannot see it.
        check_scope_archive(archive)
        await self._caller.mutate(
            "store/restore_scope",
            {
                "scope": archive.scope,
                "documents": archive.documents,
                "versions": archive.versions,
                "redactions": archive.redactions,
            },
            _done,
            headers=self._headers,
            is_patient=True,
        )

    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        check_conversation_id(conversation_id)
        if not messages:
            raise ValueError("a turn must carry at least one message")
        answer = await self._caller.mutate(
            "conversation/append_turn",
            {"conversation_id": conversation_id, "messages": tuple(messages), "actor": actor},
            _turns,
            headers=self._headers,
        )
        return answer.turn

    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        check_conversation_id(conversation_id)
        await self._caller.mutate(
            "conversation/append_projections",
            {"conversation_id": conversation_id, "entries": tuple(entries)},
            _done,
            headers=self._headers,
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
        answer = await self._caller.mutate(
            "conversation/redact_turns",
            {
                "conversation_id": conversation_id,
                "through": through,
                "turns": None if turns is None else tuple(turns),
                "actor": actor,
            },
            _counts,
            headers=self._headers,
            is_patient=True,
        )
        return answer.count

    async def restore_conversation(self, archive: ConversationArchive) -> None:
        check_conversation_archive(archive)
        await self._caller.mutate(
            "store/restore_conversation",
            {
                "conversation_id": archive.conversation_id,
                "turns": archive.turns,
                "projections": archive.projections,
                "redactions": archive.redactions,
            },
            _done,
            headers=self._headers,
            is_patient=True,
        )

    def _present(self, route: str, answer: DocumentAnswer) -> MemoryDocument:
        if answer.document is None:
            raise self._missing(route)
        return answer.document

    def _missing(self, route: str) -> CommonholdError:
        return self._caller.unexpected(route, "no document")
