"""The wire, byte for byte, over the in-memory store."""

from tests.support.goldens.archives import ArchiveGoldens
from tests.support.goldens.bodies import BodyGoldens, JsonGoldens
from tests.support.goldens.conversations import ConversationGoldens
from tests.support.goldens.http import HttpGoldens
from tests.support.goldens.idempotency import IdempotencyGoldens
from tests.support.goldens.memory import MemoryGoldens
from tests.support.goldens.paging import PagingGoldens
from tests.support.goldens.units import UnitGoldens


class TestMemoryRoutes(MemoryGoldens):
    pass


class TestBodies(BodyGoldens):
    pass


class TestConversationRoutes(ConversationGoldens):
    pass


class TestPaging(PagingGoldens):
    pass


class TestHttp(HttpGoldens):
    pass


class TestStoreRoutes(UnitGoldens):
    pass


class TestIdempotencyKeys(IdempotencyGoldens):
    pass


class TestJson(JsonGoldens):
    pass


class TestMalformedArchives(ArchiveGoldens):
    pass
