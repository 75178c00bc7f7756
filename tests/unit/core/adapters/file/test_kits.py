"""FileStore passes every kit of what it offers."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from commonhold.adapters.file import FileStore
from commonhold.conformance import (
    ArchivableContract,
    ConditionalContract,
    ControlledClock,
    ConversationStoreContract,
    DigestibleContract,
    ErasureContract,
    ExpirableContract,
    FrozenClock,
    MemoryStoreContract,
    OutlinedContract,
    PageableContract,
    PortableContract,
    SearchContract,
    SearchWithinContract,
)
from tests.support.planting_files import PlantsInFiles
from tests.support.roots import temporary_root


class FileSubject(PlantsInFiles):
    @pytest.fixture(autouse=True)
    def make_root(self) -> Iterator[Path]:
        with temporary_root() as root:
            self.root = root
            yield root

    @pytest.fixture
    async def store(self, clock: ControlledClock, make_root: Path) -> AsyncIterator[FileStore]:
        async with FileStore(make_root, clock=clock) as store:
            yield store


class FrozenTime:
    @pytest.fixture
    def clock(self) -> ControlledClock:
        return FrozenClock()


class TestMemory(FileSubject, MemoryStoreContract):
    pass


class TestConversations(FileSubject, ConversationStoreContract):
    pass


class TestSearchOnEqualStamps(FrozenTime, FileSubject, SearchContract):
    pass


class TestSearchWithin(FileSubject, SearchWithinContract):
    pass


class TestSearchWithinOnEqualStamps(FrozenTime, FileSubject, SearchWithinContract):
    pass


class TestErasure(FileSubject, ErasureContract):
    pass


class TestConditions(FileSubject, ConditionalContract):
    pass


class TestOutlines(FileSubject, OutlinedContract):
    pass


class TestArchives(FileSubject, ArchivableContract):
    pass


class TestPages(FileSubject, PageableContract):
    pass


class TestPortability(FileSubject, PortableContract):
    pass


class TestDigests(FileSubject, DigestibleContract):
    pass


class TestExpiry(FileSubject, ExpirableContract):
    pass
