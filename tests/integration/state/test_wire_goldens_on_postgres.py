"""The wire, byte for byte, over Postgres.

What is settled before a store is reached is tried over the in-memory one alone.
"""

from tests.support.goldens.archives import ArchiveGoldens
from tests.support.goldens.bodies import BodyGoldens
from tests.support.goldens.conversations import ConversationGoldens
from tests.support.goldens.idempotency import IdempotencyGoldens
from tests.support.goldens.memory import MemoryGoldens
from tests.support.goldens.paging import PagingGoldens
from tests.support.goldens.units import UnitGoldens
from tests.support.wire_service import Wire


class TestMemoryRoutes(MemoryGoldens):
    pass


class TestBodies(BodyGoldens):
    pass


class TestConversationRoutes(ConversationGoldens):
    pass


class TestPaging(PagingGoldens):
    pass


async def test_the_handshake_names_the_store(wire: Wire) -> None:
    answer = await wire.ask("GET", "/v1/capabilities")
    assert '"backend":"PostgresStore"' in answer.text
    assert answer.header("commonhold-idempotency") == "1"


class TestStoreRoutes(UnitGoldens):
    pass


class TestIdempotencyKeys(IdempotencyGoldens):
    pass


class TestMalformedArchives(ArchiveGoldens):
    pass
