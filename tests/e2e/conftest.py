"""The stack in containers, which several modules share: it takes half a minute to start."""

from collections.abc import Iterator

import pytest

from tests.support.compose_stacks import Stack, running_stack


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    with running_stack() as stack:
        yield stack
