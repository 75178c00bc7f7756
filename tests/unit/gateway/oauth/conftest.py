"""One local issuer a test."""

from collections.abc import AsyncIterator

import pytest

from tests.support.issuers import LocalIssuer, local_issuer


@pytest.fixture
async def issuer() -> AsyncIterator[LocalIssuer]:
    async with local_issuer() as made:
        yield made
