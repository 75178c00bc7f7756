"""RemoteStore passes the kits over a service on a directory of files, which keeps no keys.

Nothing is sent twice here, so that a call is one reading of a clock.
"""

from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.file import FileStore
from commonhold.adapters.remote import RemoteStore
from commonhold.conformance import (
    ControlledClock,
    ConversationStoreContract,
    ErasureContract,
    FrozenClock,
    MemoryStoreContract,
    PageableContract,
    PortableContract,
    SearchContract,
    SearchWithinContract,
)
from tests.support.planting_files import PlantsInFiles
from tests.support.remote_stores import RemoteSubject, served
from tests.support.roots import temporary_root


class OverFiles(RemoteSubject):
    @pytest.fixture
    async def store(self, clock: ControlledClock) -> AsyncIterator[RemoteStore]:
        with temporary_root() as root:
            async with FileStore(root, clock=clock) as backing, served(backing) as store:
                self.backing, self.plants = backing, PlantsInFiles()
                self.plants.root = root
                yield store


class FrozenTime:
    @pytest.fixture
    def clock(self) -> ControlledClock:
        return FrozenClock()


class TestMemory(OverFiles, MemoryStoreContract):
    pass


class TestConversations(OverFiles, ConversationStoreContract):
    pass


class TestSearchWithinOnEqualStamps(FrozenTime, OverFiles, SearchWithinContract):
    pass


class TestSearchOnEqualStamps(FrozenTime, OverFiles, SearchContract):
    pass


class TestErasure(OverFiles, ErasureContract):
    pass


class TestPageable(OverFiles, PageableContract):
    pass


class TestPortable(OverFiles, PortableContract):
    pass
