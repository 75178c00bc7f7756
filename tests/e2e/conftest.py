"""The stack in containers, which several modules share: it takes half a minute to start."""

from collections.abc import Iterator

import pytest

from tests.support.compose_stacks import Stack, running_stack


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Two replicas of both services behind the balancer and the edge, and a pooler that waits."""
    with running_stack("replicas", "tls", "pgbouncer", settings={"TARGETS": "two"}) as stack:
        yield stack
