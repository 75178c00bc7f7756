"""A store in memory on the clock of the cases."""

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock


@pytest.fixture
def store(clock: ControlledClock) -> InMemoryStore:
    return InMemoryStore(clock=clock)
