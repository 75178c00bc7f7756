"""The service over the in-memory store, on a socket of loopback."""

from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold_state.backend import StateStore
from tests.support.wire_service import HandClock, Wire, running


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def store(clock: HandClock) -> StateStore:
    return InMemoryStore(clock=clock)


@pytest.fixture
async def wire(store: StateStore) -> AsyncIterator[Wire]:
    async with running(store) as service:
        yield service


@pytest.fixture
def backend_name() -> str:
    return "InMemoryStore"
