"""The erasure of documents that nobody has changed for long (maintenance.md, section 6.3).

A document that was written after it was looked at is never erased, what is held is never
touched, and a second run finds nothing.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta

from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.errors import MemoryConflictError
from commonhold.contract.expirations import AgedDocument, Expirable, VersionEraser
from commonhold.contract.paging import PAGE_SIZE
from commonhold.usecases.session_documents import SESSIONS_PREFIX
from commonhold.usecases.upkeep.durations import cutoff_of
from commonhold.usecases.upkeep.holds import NO_HOLDS, Holds
from commonhold.usecases.upkeep.protections import CHANGED, HELD
from commonhold.usecases.upkeep.prunes import PruneReport
from commonhold.usecases.upkeep.retention_ports import require_enumerable, require_expirable
from commonhold.usecases.upkeep.session_listings import DocumentName, KeptDocument
from commonhold.usecases.upkeep.shortfalls import Steps


async def expire_documents(
    store: object,
    *,
    older_than: timedelta,
    scopes: Sequence[str],
    clock: Clock,
    holds: Holds = NO_HOLDS,
    actor: str | None = None,
    dry_run: bool = False,
    acts: VersionEraser | None = None,
) -> PruneReport:
    """Erase what is in the scopes whose name starts with one of `scopes`, unchanged for so long.

    Each erasure is of the version that was looked at. `acts` erases instead of the store: a
    view of it that stands under a claim. What the store refuses is reported, and the rest is
    erased. Raises ConfigurationError, before anything is
    written, when the store can neither list documents by age nor enumerate itself.
    """
    documents = require_expirable(store)
    names = await require_enumerable(store).scopes()
    cutoff = cutoff_of(read_clock(clock), older_than)
    erased: list[DocumentName] = []
    kept: list[KeptDocument] = []
    steps = Steps()
    for scope in names:
        if steps.is_cut_short:
            break
        if not scope.startswith(tuple(scopes)):
            continue
        with steps.attempt(f"documents in {scope} may not be erased"):
            async for found in _aged(documents, scope, before=cutoff):
                with steps.attempt(f"/{found.path} in {scope} was not erased"):
                    reason = HELD if _is_held(scope, found.path, holds) else None
                    if reason is None and not dry_run:
                        reason = await _erase(acts or documents, scope, found, actor=actor)
                    if reason is None:
                        erased.append(DocumentName(scope, found.path))
                    else:
                        kept.append(KeptDocument(scope=scope, path=found.path, reason=reason))
                if steps.is_cut_short:
                    break
    return PruneReport(
        cutoff=cutoff,
        dry_run=dry_run,
        turns=0,
        conversations=(),
        documents=tuple(erased),
        kept=tuple(kept),
        unfinished=tuple(steps.shortfalls),
    )


def _is_held(scope: str, path: str, holds: Holds) -> bool:
    """A held scope, or what a held conversation left in this one."""
    if holds.holds_scope(scope):
        return True
    conversation_id = path.removeprefix(SESSIONS_PREFIX)
    return conversation_id != path and holds.holds_conversation(conversation_id)


async def _erase(
    eraser: VersionEraser, scope: str, found: AgedDocument, *, actor: str | None
) -> str | None:
    """Why it was left alone; None once it is erased."""
    try:
        await eraser.redact_if(scope, found.path, expected_version=found.version, actor=actor)
    except MemoryConflictError:
        return CHANGED
    return None


async def _aged(
    documents: Expirable, scope: str, *, before: datetime
) -> AsyncIterator[AgedDocument]:
    cursor: str | None = None
    while True:
        page = await documents.aged_documents_page(
            scope, before=before, cursor=cursor, limit=PAGE_SIZE
        )
        for found in page.items:
            yield found
        cursor = page.next_cursor
        if cursor is None:
            return
