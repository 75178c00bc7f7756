"""What a model proposed, operation by operation (docs/reference/maintenance.md, section 4.4)."""

from collections.abc import Mapping

import structlog

from commonhold.contract.documents import MemoryDocument
from commonhold.contract.errors import (
    ClaimLostError,
    CommonholdError,
    MemoryConflictError,
    MemoryStoreError,
    PathInvalidError,
)
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.dispatcher import perform
from commonhold.usecases.failures import CommandError
from commonhold.usecases.mounts import MountTable
from commonhold.usecases.upkeep.editors import FencedEditor
from commonhold.usecases.upkeep.erasure_watch import ErasureWatch
from commonhold.usecases.upkeep.evidence import Key, Shown
from commonhold.usecases.upkeep.fences import RedactedMeanwhileError, reason_of
from commonhold.usecases.upkeep.holds import Holds
from commonhold.usecases.upkeep.operations import (
    CreateOperation,
    DeleteOperation,
    Operation,
    RenameOperation,
    StrReplaceOperation,
    source_of,
    written_path,
)
from commonhold.usecases.upkeep.protections import (
    CHANGED,
    ERASED,
    FRESH,
    HELD,
    NOT_SHOWN,
    OVERTAKEN,
    REDACTED,
    STATE,
    AgeFloor,
    has_own_lifecycle,
    is_blank,
)
from commonhold.usecases.upkeep.reports import PassLog
from commonhold.usecases.virtual_paths import Place, resolve_document, virtual_path

logger = structlog.get_logger(__name__)


class Execution:
    """Operations in order and each by itself; later ones see what earlier ones did."""

    def __init__(
        self,
        editor: FencedEditor,
        mounts: MountTable,
        *,
        floor: AgeFloor,
        holds: Holds,
        watch: ErasureWatch,
        shown: Mapping[Key, Shown],
    ) -> None:
        self._editor = editor
        self._mounts = mounts
        self._floor = floor
        self._holds = holds
        self._watch = watch
        self._shown = shown
        self._context = MemoryContext(documents=editor, mounts=mounts)

    async def perform(self, operation: Operation, log: PassLog) -> None:
        """Carry out one operation, or skip it with its reason. Raises ClaimLostError."""
        path = written_path(operation)
        try:
            reason = await self._refusal(operation)
            if reason is None:
                version = await self._carry_out(operation)
                log.wrote(operation.command, path, version)
                reason = await self._overtaken()
            if reason is None:
                return
        except ClaimLostError:
            raise
        except (MemoryConflictError, RedactedMeanwhileError) as error:
            reason = _conflict(error)
        except CommandError as error:
            reason = error.message
        except CommonholdError as error:
            # A refusal's text quotes the operation, which is for the report alone.
            logger.info("upkeep_operation_refused", command=operation.command, code=error.code)
            reason = f"[{error.code}] {error.message}"
        log.skip(operation.command, path, reason, document=self._document(operation))

    async def _refusal(self, operation: Operation) -> str | None:
        """The first protection that stands in the way; what names no document has none."""
        source = self._find(source_of(operation))
        target = self._find(operation.new_path) if isinstance(operation, RenameOperation) else None
        places = [place for place in (source, target) if place is not None]
        if any(has_own_lifecycle(place.document_path) for place in places):
            return STATE
        if any(self._holds.holds_scope(place.scope) for place in places):
            return HELD
        if source is None or source.mount.read_only:
            return None
        current = await self._editor.read(source.scope, source.document_path)
        return (
            self._protection(operation, source, current)
            or _fixed_set(operation, places)
            or await self._erasure(operation)
        )

    def _document(self, operation: Operation) -> str | None:
        """The document that an operation is about, if the model was told of it.

        Any other path is text of the model's, and may repeat what it read.
        """
        source = self._find(source_of(operation))
        if source is None or (source.scope, source.document_path) not in self._shown:
            return None
        return virtual_path(source.mount, source.document_path)

    def _find(self, path: str) -> Place | None:
        try:
            return resolve_document(self._mounts, path)
        except PathInvalidError:
            return None

    def _protection(
        self, operation: Operation, source: Place, current: MemoryDocument | None
    ) -> str | None:
        known = self._editor.told.get((source.scope, source.document_path))
        if (known is not None and known.redacted) or (current is not None and current.redacted):
            return REDACTED
        if known is None or current is None:
            # It came or went while the model was thinking, or was never there.
            return None if known is None and current is None else CHANGED
        if self._floor.is_fresh(known.updated_at) and _wipes(operation, current):
            return FRESH
        if not known.has_body:
            return NOT_SHOWN
        return None if current.version == known.version else CHANGED

    async def _erasure(self, operation: Operation) -> str | None:
        """Text of the model's, a name too, may be what it was shown and what is erased by now."""
        if isinstance(operation, DeleteOperation):
            return None
        return ERASED if await self._watch.has_erased(self._shown) else None

    async def _overtaken(self) -> str | None:
        """Of a document that was there before: to erase it would take what was in it too."""
        if not self._editor.overwritten or not await self._watch.has_erased(self._shown):
            return None
        logger.warning("upkeep_erasure_overtook_an_edit")
        return OVERTAKEN

    async def _carry_out(self, operation: Operation) -> int | None:
        """The live version afterwards; what a failed operation has made is taken back."""
        self._editor.begin()
        arguments = operation.model_dump(exclude={"command"})
        try:
            result = await perform(self._context, operation.command, arguments)
        except (MemoryStoreError, RedactedMeanwhileError):
            await self._editor.take_back()
            await self._follow_erasure(operation)
            raise
        await self._follow_erasure(operation)
        await self._editor.erase_revived()
        if isinstance(operation, DeleteOperation) or result.receipt is None:
            return None
        return result.receipt.version

    async def _follow_erasure(self, operation: Operation) -> None:
        """What was made of text that was erased at the last moment is erased too.

        A move has happened all the same; of a new document nothing is left.
        """
        if not self._editor.created or not await self._is_of_erased_text(operation):
            return
        await self._editor.erase_created()
        if isinstance(operation, CreateOperation):
            raise RedactedMeanwhileError(self._editor.created[0][0][1])

    async def _is_of_erased_text(self, operation: Operation) -> bool:
        """Of a copy in another mount its source tells, and of a new text all that was shown."""
        if not isinstance(operation, RenameOperation):
            return await self._watch.has_erased(self._shown)
        source = resolve_document(self._mounts, operation.old_path)
        rows = await self._editor.versions(source.scope, source.document_path, limit=2)
        return any(row.redacted for row in rows)


def _conflict(error: MemoryConflictError | RedactedMeanwhileError) -> str:
    if isinstance(error, MemoryConflictError) and error.reason == "destination_exists":
        return f"[{error.code}] {error.message}"
    return reason_of(error, path=error.path or "")


def _wipes(operation: Operation, current: MemoryDocument) -> bool:
    """Whether the text that is there would be gone: what the age floor is about."""
    if isinstance(operation, StrReplaceOperation):
        if not operation.old_str:
            return False
        return is_blank(current.content.replace(operation.old_str, operation.new_str, 1))
    return isinstance(operation, CreateOperation | DeleteOperation)


def _fixed_set(operation: Operation, places: list[Place]) -> str | None:
    if not isinstance(operation, DeleteOperation | RenameOperation):
        return None
    for place in places:
        if place.mount.edit_only:
            return f"/{place.mount.mount_path} is edit-only: its document set is fixed"
    return None
