"""Acts that rest on versions (docs/reference/maintenance.md, section 2, "version fence").

A plan is made from what was read, and others write meanwhile. Each act looks again, and
then asks the store to act only on that version, where the store can.
"""

from collections.abc import Sequence
from typing import Protocol

from commonhold.contract.documents import MemoryDocument
from commonhold.contract.errors import MemoryConflictError
from commonhold.contract.stores import Conditional, MemoryReader, Witness
from commonhold.usecases.upkeep.protections import CHANGED, KEEPER_CHANGED, REDACTED
from commonhold.usecases.upkeep.reports import Fence

_MOVED = ("version_mismatch", "document_absent")


class DocumentActs(Protocol):
    """The changes a pass makes: of a store, or of a view of it that stands under a claim."""

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
    ) -> MemoryDocument: ...

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool: ...

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument: ...

    async def redact(
        self, scope: str, *, path: str | None = None, actor: str | None = None
    ) -> int: ...


class TendedStore(MemoryReader, DocumentActs, Protocol):
    """What a pass asks of a store."""


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

    def __init__(self, documents: MemoryReader, acts: DocumentActs, *, actor: str) -> None:
        self._documents = documents
        self._acts = acts
        self._actor = actor
        self._conditional = acts if isinstance(acts, Conditional) else None

    @property
    def kind(self) -> Fence:
        return "reread" if self._conditional is None else "conditional"

    async def create(self, scope: str, path: str, content: str) -> MemoryDocument:
        """Write a document where none is."""
        if self._conditional is not None:
            return await self._conditional.create_if_absent(scope, path, content, actor=self._actor)
        if await self._documents.read(scope, path) is not None:
            raise MemoryConflictError(scope=scope, path=path, reason="destination_exists")
        return await self._acts.write(scope, path, content, actor=self._actor)

    async def overwrite(
        self, scope: str, path: str, content: str, *, version: int
    ) -> MemoryDocument:
        await self._require(scope, path, version)
        return await self._acts.write(
            scope, path, content, actor=self._actor, expected_version=version
        )

    async def delete(
        self, scope: str, path: str, *, version: int, witnesses: Sequence[Witness] = ()
    ) -> None:
        for witness, witnessed in witnesses:
            await self._require(scope, witness, witnessed)
        await self._require(scope, path, version)
        if self._conditional is None:
            await self._acts.delete(scope, path, actor=self._actor)
            return
        await self._conditional.delete_if(
            scope, path, expected_version=version, witnesses=witnesses, actor=self._actor
        )

    async def rename(self, scope: str, src: str, dst: str, *, version: int) -> MemoryDocument:
        await self._require(scope, src, version)
        if self._conditional is None:
            return await self._acts.rename(scope, src, dst, actor=self._actor)
        return await self._conditional.rename_if(
            scope, src, dst, expected_version=version, actor=self._actor
        )

    async def erase(self, scope: str, path: str) -> None:
        """Redact what the pass itself wrote."""
        await self._acts.redact(scope, path=path, actor=self._actor)

    async def _require(self, scope: str, path: str, version: int) -> None:
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


def reason_of(error: MemoryConflictError | RedactedMeanwhileError, *, path: str) -> str:
    """Why an act on `path` was skipped, in the words of a report."""
    if isinstance(error, MemoryConflictError) and error.reason not in _MOVED:
        return str(error)
    if error.path != path:
        return KEEPER_CHANGED
    return REDACTED if isinstance(error, RedactedMeanwhileError) else CHANGED
