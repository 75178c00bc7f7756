"""Bugs of deletion and renaming by version."""

import asyncio
from collections.abc import Sequence
from typing import Any

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import (
    DocumentNotFoundError,
    MemoryConflictError,
    MemoryDocument,
    MemoryFormatError,
    PathInvalidError,
    Witness,
)
from tests.support.mutants.registry import CONDITIONS, breaks


class _Conditions(InMemoryStore):
    """Conditions that a mutant bends before they are checked."""

    async def delete_if(
        self,
        scope: str,
        path: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> int:
        bent = await self._bent(scope, path, expected_version, witnesses)
        return await super().delete_if(scope, path, **bent, actor=actor)

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
        bent = await self._bent(scope, src, expected_version, witnesses)
        return await super().rename_if(scope, src, dst, **bent, actor=actor)

    async def _bent(
        self, scope: str, path: str, expected: int, witnesses: Sequence[Witness]
    ) -> dict[str, Any]:
        raise NotImplementedError

    async def _live(self, scope: str, path: str) -> int | None:
        found = await self.read(scope, path)
        return None if found is None else found.version


@breaks(
    CONDITIONS,
    "another_version_is_refused_without_effect",
    "the_document_is_judged_before_its_witnesses",
)
class ActsOnAnyVersion(_Conditions):
    async def _bent(
        self, scope: str, path: str, expected: int, witnesses: Sequence[Witness]
    ) -> dict[str, Any]:
        live = await self._live(scope, path)
        return {"expected_version": live or expected, "witnesses": witnesses}


@breaks(
    CONDITIONS,
    "a_changed_witness_is_refused_without_effect",
    "a_refusal_leaves_no_trace_of_a_path",
    "a_witness_that_is_gone_is_refused",
    "bad_names_are_refused_in_order",
)
class TrustsItsWitnesses(_Conditions):
    async def _bent(
        self, scope: str, path: str, expected: int, witnesses: Sequence[Witness]
    ) -> dict[str, Any]:
        return {"expected_version": expected, "witnesses": ()}


@breaks(CONDITIONS, "a_changed_witness_is_refused_without_effect")
class AsksOnlyWhetherWitnessesAreLive(_Conditions):
    async def _bent(
        self, scope: str, path: str, expected: int, witnesses: Sequence[Witness]
    ) -> dict[str, Any]:
        standing = [
            (name, version if (live := await self._live(scope, name)) is None else live)
            for name, version in witnesses
        ]
        return {"expected_version": expected, "witnesses": standing}


@breaks(CONDITIONS, "standing_witnesses_change_nothing")
class RefusesAnyWitness(_Conditions):
    async def _bent(
        self, scope: str, path: str, expected: int, witnesses: Sequence[Witness]
    ) -> dict[str, Any]:
        return {
            "expected_version": expected,
            "witnesses": [(name, version + 1) for name, version in witnesses],
        }


@breaks(CONDITIONS, "of_two_copies_that_vouch_for_each_other_one_goes")
class LooksAtWitnessesBeforehand(_Conditions):
    async def _bent(
        self, scope: str, path: str, expected: int, witnesses: Sequence[Witness]
    ) -> dict[str, Any]:
        for name, version in witnesses:
            if await self._live(scope, name) != version:
                return {"expected_version": expected, "witnesses": witnesses}
        await asyncio.sleep(0)
        return {"expected_version": expected, "witnesses": ()}


class _Plain(InMemoryStore):
    """Conditions checked by a mutant, then the unconditional call."""

    async def delete_if(
        self,
        scope: str,
        path: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> int:
        await self._check(scope, path, expected_version, witnesses)
        await self.delete(scope, path, actor=actor)
        return (await self.versions(scope, path, limit=1))[0].version

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
        await self._check(scope, src, expected_version, witnesses)
        return await self.rename(scope, src, dst, actor=actor)

    async def _check(
        self, scope: str, path: str, expected: int, witnesses: Sequence[Witness]
    ) -> None:
        for name, version in ((path, expected), *witnesses):
            live = await self.read(scope, name)
            if live is None or live.version != version:
                raise MemoryConflictError(
                    scope=scope,
                    path=name,
                    reason="document_absent" if live is None else "version_mismatch",
                    expected_version=version,
                    actual_version=None if live is None else live.version,
                )


@breaks(CONDITIONS, "the_document_is_judged_before_its_witnesses")
class JudgesTheDestinationLast(_Plain):
    pass


@breaks(CONDITIONS, "a_racing_write_is_never_lost")
class ReadsThenActs(_Plain):
    async def _check(
        self, scope: str, path: str, expected: int, witnesses: Sequence[Witness]
    ) -> None:
        await super()._check(scope, path, expected, witnesses)
        await asyncio.sleep(0)


@breaks(CONDITIONS, "a_newer_document_is_refused_before_its_version")
class ComparesBeforeItReads(_Plain):
    async def _check(
        self, scope: str, path: str, expected: int, witnesses: Sequence[Witness]
    ) -> None:
        try:
            await super()._check(scope, path, expected, witnesses)
        except MemoryFormatError:
            rows = self._documents.ledgers[scope].paths[path]
            if rows.highest != expected:
                raise MemoryConflictError(
                    scope=scope, path=path, reason="version_mismatch"
                ) from None
            raise


@breaks(CONDITIONS, "an_absent_document_is_refused")
class NotFoundLikeARename(_Plain):
    async def _check(
        self, scope: str, path: str, expected: int, witnesses: Sequence[Witness]
    ) -> None:
        if await self.read(scope, path) is None:
            raise DocumentNotFoundError(scope=scope, path=path)
        await super()._check(scope, path, expected, witnesses)


@breaks(CONDITIONS, "bad_names_are_refused_in_order")
class ChecksWitnessesFirst(_Plain):
    async def _check(
        self, scope: str, path: str, expected: int, witnesses: Sequence[Witness]
    ) -> None:
        for name, _ in witnesses:
            if name.startswith("/"):
                raise PathInvalidError(path=name, reason="segments")
        await super()._check(scope, path, expected, witnesses)


@breaks(CONDITIONS, "an_actor_that_cannot_be_kept_is_refused_whole")
class ActsBeforeItChecksTheActor(InMemoryStore):
    async def delete_if(self, scope: str, path: str, **options: Any) -> int:
        try:
            return await super().delete_if(scope, path, **options)
        except ValueError:
            await super().delete_if(scope, path, **options | {"actor": None})
            raise


@breaks(CONDITIONS, "the_expected_version_is_deleted", "the_expected_version_is_renamed")
class ActsUnderNoName(InMemoryStore):
    async def delete_if(self, scope: str, path: str, **options: Any) -> int:
        return await super().delete_if(scope, path, **options | {"actor": None})

    async def rename_if(self, scope: str, src: str, dst: str, **options: Any) -> MemoryDocument:
        return await super().rename_if(scope, src, dst, **options | {"actor": None})


@breaks(CONDITIONS, "a_live_destination_is_refused")
class RenamesOverTheDestination(InMemoryStore):
    async def rename_if(self, scope: str, src: str, dst: str, **options: Any) -> MemoryDocument:
        if src != dst:
            await self.delete(scope, dst)
        return await super().rename_if(scope, src, dst, **options)


@breaks(CONDITIONS, "a_refusal_leaves_no_trace_of_a_path")
class ClaimsTheDestinationForGood(InMemoryStore):
    async def rename_if(self, scope: str, src: str, dst: str, **options: Any) -> MemoryDocument:
        self._documents._put_ledger(scope, dst)
        return await super().rename_if(scope, src, dst, **options)


@breaks(CONDITIONS, "a_chain_of_witnesses_ends")
class DeletesTheWitnessesToo(InMemoryStore):
    async def delete_if(
        self, scope: str, path: str, *, witnesses: Sequence[Witness] = (), **options: Any
    ) -> int:
        number = await super().delete_if(scope, path, witnesses=witnesses, **options)
        for entry in await self.list_documents(scope):
            await self.delete(scope, entry.path)
        return number


@breaks(CONDITIONS, "a_live_document_is_not_created_again", "of_racing_creations_one_succeeds")
class CreatesOverTheLive(InMemoryStore):
    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        return await self.write(scope, path, content, actor=actor)


@breaks(CONDITIONS, "of_racing_creations_one_succeeds")
class LooksBeforeItCreates(InMemoryStore):
    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        if await self.read(scope, path) is not None:
            return await super().create_if_absent(scope, path, content, actor=actor)
        await asyncio.sleep(0)
        return await self.write(scope, path, content, actor=actor)


@breaks(CONDITIONS, "an_absent_document_is_created", "of_racing_creations_one_succeeds")
class CreatesOnlyOnce(InMemoryStore):
    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        if await self.versions(scope, path, limit=1):
            raise MemoryConflictError(scope=scope, path=path, reason="destination_exists")
        return await super().create_if_absent(scope, path, content, actor=actor)


@breaks(CONDITIONS, "a_live_document_is_not_created_again")
class TakesTheErasedForAbsent(InMemoryStore):
    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        found = await self.read(scope, path)
        if found is not None and found.redacted:
            return await self.write(scope, path, content, actor=actor)
        return await super().create_if_absent(scope, path, content, actor=actor)
