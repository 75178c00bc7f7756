"""Deletion, renaming and creation that rest on versions (maintenance.md, section 2, P7).

A plan is made from what was read, and others write meanwhile. Each act looks again, and
then asks the store to act only on that version, where the store can.
"""

from collections.abc import Sequence

from commonhold.contract.documents import MemoryDocument
from commonhold.contract.errors import MemoryConflictError
from commonhold.contract.stores import Conditional, MemoryEditor, Witness
from commonhold.usecases.upkeep.protections import CHANGED, KEEPER_CHANGED, REDACTED
from commonhold.usecases.upkeep.reports import Fence

_MOVED = ("version_mismatch", "document_absent")


class RedactedMeanwhileError(Exception):
    """Erased since it was read; an erasure leaves the version as it is."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class VersionFence:
    """The acts of one pass, under its actor.

    Raises MemoryConflictError when a version is no longer the live one, and
    RedactedMeanwhileError when its content was erased.
    """

    def __init__(self, documents: MemoryEditor, *, actor: str) -> None:
        self._documents = documents
        self._actor = actor
        self._conditional = documents if isinstance(documents, Conditional) else None

    @property
    def kind(self) -> Fence:
        return "reread" if self._conditional is None else "conditional"

    async def delete(
        self, scope: str, path: str, *, version: int, witnesses: Sequence[Witness] = ()
    ) -> None:
        for witness, witnessed in witnesses:
            await self._require(scope, witness, witnessed)
        await self._require(scope, path, version)
        if self._conditional is None:
            await self._documents.delete(scope, path, actor=self._actor)
            return
        await self._conditional.delete_if(
            scope, path, expected_version=version, witnesses=witnesses, actor=self._actor
        )

    async def _require(self, scope: str, path: str, version: int) -> MemoryDocument:
        current = await self._documents.read(scope, path)
        if current is None or current.version != version:
            raise MemoryConflictError(
                scope=scope,
                path=path,
                reason="document_absent" if current is None else "version_mismatch",
                expected_version=version,
                actual_version=None if current is None else current.version,
            )
        if current.redacted:
            raise RedactedMeanwhileError(path)
        return current


def reason_of(error: MemoryConflictError | RedactedMeanwhileError, *, path: str) -> str:
    """Why an act on `path` was skipped, in the words of a report."""
    if error.path != path:
        return KEEPER_CHANGED
    if isinstance(error, RedactedMeanwhileError):
        return REDACTED
    return CHANGED if error.reason in _MOVED else str(error)
