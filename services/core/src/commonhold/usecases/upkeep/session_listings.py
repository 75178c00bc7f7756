"""The documents that sessions left of a conversation, in whichever scopes they stand.

A conversation names no scope, so erasing its traces means looking into every one.
"""

from collections.abc import AsyncIterator, Collection

import msgspec

from commonhold.contract.stores import MemoryEraser, MemoryReader
from commonhold.usecases.session_documents import SESSIONS_PREFIX
from commonhold.usecases.upkeep.holds import Holds
from commonhold.usecases.upkeep.listings import entries_in
from commonhold.usecases.upkeep.protections import HELD
from commonhold.usecases.upkeep.shortfalls import Steps


class DocumentName(msgspec.Struct, frozen=True):
    scope: str
    path: str


class KeptDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document that stays, and why."""

    scope: str
    path: str
    reason: str = HELD


class SessionErasure(msgspec.Struct, frozen=True):
    """The documents erased, or to be erased, and those a hold keeps."""

    erased: tuple[DocumentName, ...] = ()
    held: tuple[KeptDocument, ...] = ()


async def erase_sessions(
    documents: MemoryReader,
    eraser: MemoryEraser,
    conversations: Collection[str],
    *,
    scopes: Collection[str],
    actor: str | None,
    holds: Holds,
    steps: Steps,
    dry_run: bool = False,
) -> SessionErasure:
    """Redact the session documents of some conversations; those redacted already stay out.

    A scope, or a document, that is refused is noted in `steps`, and the others go on.
    """
    erased: list[DocumentName] = []
    held: list[KeptDocument] = []
    for scope in scopes:
        with steps.attempt(f"documents under sessions/ in {scope} may not be erased"):
            async for path in _paths_in(documents, scope, conversations):
                if holds.holds_scope(scope):
                    held.append(KeptDocument(scope=scope, path=path))
                    continue
                with steps.attempt(f"/{path} in {scope} was not erased"):
                    if not dry_run:
                        await eraser.redact(scope, path=path, actor=actor)
                    erased.append(DocumentName(scope, path))
                if steps.is_cut_short:
                    break
        if steps.is_cut_short:
            break
    return SessionErasure(tuple(erased), tuple(held))


async def _paths_in(
    documents: MemoryReader, scope: str, conversations: Collection[str]
) -> AsyncIterator[str]:
    # Of one conversation the listing is a single row; of many, one listing serves them all.
    only = next(iter(conversations)) if len(conversations) == 1 else ""
    async for entry in entries_in(documents, scope, prefix=SESSIONS_PREFIX + only):
        if not entry.redacted and entry.path.removeprefix(SESSIONS_PREFIX) in conversations:
            yield entry.path
