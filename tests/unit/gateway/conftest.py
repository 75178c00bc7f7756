"""The gateway over the in-memory store, on a socket of loopback."""

from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from tests.support.gateway_service import RunningGateway, running_gateway
from tests.support.wire_service import HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def store(clock: HandClock) -> InMemoryStore:
    return InMemoryStore(clock=clock)


@pytest.fixture
async def gateway(store: InMemoryStore) -> AsyncIterator[RunningGateway]:
    async with running_gateway(store) as service:
        yield service
