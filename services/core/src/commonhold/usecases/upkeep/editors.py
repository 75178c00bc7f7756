"""The documents as the semantic stage edits them: the dispatcher's editor, behind the fence.

Whatever a command reads, it may change only at the version that the model was told of.
"""

from commonhold.contract.documents import MemoryDocument, MemoryEntry, MemoryVersion
from commonhold.contract.errors import DocumentNotFoundError, MemoryConflictError
from commonhold.contract.stores import MemoryReader
from commonhold.usecases.upkeep.evidence import Key, Shown
from commonhold.usecases.upkeep.fences import RedactedMeanwhileError, VersionFence


class FencedEditor:
    """`told` is what the model knows; the editor's own changes become part of it."""

    def __init__(
        self, documents: MemoryReader, fence: VersionFence, *, told: dict[Key, Shown]
    ) -> None:
        self._documents = documents
        self._fence = fence
        self.told = told
        self.created: list[tuple[Key, int]] = []
        """Documents that the running command has made, so that they can be taken back."""
        self.overwritten: list[Key] = []
        """Documents that the running command has given another text."""

    def begin(self) -> None:
        """Forget what the last command did."""
        self.created.clear()
        self.overwritten.clear()

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        return await self._documents.read(scope, path)

    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        return await self._documents.list_documents(scope, prefix=prefix)

    async def versions(
        self, scope: str, path: str, *, limit: int = 50
    ) -> tuple[MemoryVersion, ...]:
        return await self._documents.versions(scope, path, limit=limit)

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,  # noqa: ARG002 - the fence acts under the name of the pass
        expected_version: int | None = None,
    ) -> MemoryDocument:
        """Over the version that was told, or with no version where nothing is."""
        if expected_version is None:
            written = await self._fence.create(scope, path, content)
            self.created.append(((scope, path), written.version))
        else:
            self._require_told(scope, path, actual=expected_version)
            written = await self._fence.overwrite(scope, path, content, version=expected_version)
            self.overwritten.append((scope, path))
        self._learn(written)
        return written

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:  # noqa: ARG002 - as in write
        if not await self._is_there(scope, path):
            return False
        await self._fence.delete(scope, path, version=self._told_version(scope, path))
        del self.told[scope, path]
        return True

    async def rename(
        self,
        scope: str,
        src: str,
        dst: str,
        *,
        actor: str | None = None,  # noqa: ARG002 - as in write
    ) -> MemoryDocument:
        if not await self._is_there(scope, src):
            raise DocumentNotFoundError(scope=scope, path=src)
        moved = await self._fence.rename(scope, src, dst, version=self._told_version(scope, src))
        del self.told[scope, src]
        self._learn(moved)
        return moved

    async def take_back(self) -> None:
        """Delete what a command made before it failed, where nobody has changed it since."""
        for (scope, path), version in self.created:
            self.told.pop((scope, path), None)
            await self._fence.delete(scope, path, version=version)

    async def erase_created(self) -> None:
        """Redact what the command made: its text was erased where it came from."""
        for (scope, path), _version in self.created:
            await self._fence.erase(scope, path)

    async def erase_revived(self) -> None:
        """Redact what the command overwrote, where the text under it was erased at that moment.

        A version does not tell: an erasure leaves it as it is. Raises RedactedMeanwhileError.
        """
        for scope, path in self.overwritten:
            rows = await self.versions(scope, path, limit=2)
            if any(row.redacted for row in rows):
                await self._fence.erase(scope, path)
                raise RedactedMeanwhileError(path)

    async def _is_there(self, scope: str, path: str) -> bool:
        """Whether there is something to act on; what was told and is gone is for the fence."""
        return (scope, path) in self.told or await self.read(scope, path) is not None

    def _learn(self, document: MemoryDocument) -> None:
        self.told[document.scope, document.path] = Shown(
            version=document.version, updated_at=document.updated_at, has_body=True
        )

    def _told_version(self, scope: str, path: str) -> int:
        known = self.told.get((scope, path))
        # No version is 0: of what was never told every version is another one.
        return 0 if known is None else known.version

    def _require_told(self, scope: str, path: str, *, actual: int) -> None:
        expected = self._told_version(scope, path)
        if expected != actual:
            raise MemoryConflictError(
                scope=scope,
                path=path,
                reason="version_mismatch",
                expected_version=expected,
                actual_version=actual,
            )
