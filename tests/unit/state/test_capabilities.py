"""A store without the optional protocols (docs/reference/wire.md, section 9)."""

import json
from collections.abc import AsyncIterator

import pytest

from tests.support.goldens.expectations import assert_refused, decoded
from tests.support.plain_store import PlainStore
from tests.support.wire_service import Wire, running


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with running(PlainStore()) as service:
        for number in range(3):
            body = {"scope": "u:a", "path": f"p{number}", "content": "x"}
            await service.post("memory/write", body)
        yield service


async def test_the_handshake_says_what_is_missing(wire: Wire) -> None:
    answer = json.loads((await wire.ask("GET", "/v1/capabilities")).body)
    assert answer == {
        "wire_version": 6,
        "neosian_version": "2.0.0",
        "backend": "PlainStore",
        "supports_optimistic_concurrency": False,
        "pageable": False,
        "erasable": False,
        "client": "client:default",
    }


@pytest.mark.parametrize(
    ("route", "key", "count"),
    [
        ("memory/list_documents", "entries", 3),
        ("memory/versions", "versions", 1),
        ("memory/history", "versions", 3),
        ("memory/redactions", "redactions", 0),
    ],
)
async def test_listings_answer_whole_and_take_no_cursor(
    wire: Wire, route: str, key: str, count: int
) -> None:
    body = {"scope": "u:a", "path": "p1"}
    answer = decoded(await wire.post(route, body))
    assert (len(answer[key]), answer["next_cursor"]) == (count, None)
    answer = decoded(await wire.post(route, {**body, "limit": 1}))
    assert (len(answer[key]), answer["next_cursor"]) == (min(count, 1), None)
    assert_refused(
        await wire.post(route, {**body, "cursor": "zzz"}),
        "PlainStore does not support pages, so it takes no cursor",
        code="agent_configuration_error",
    )


@pytest.mark.parametrize(
    ("route", "capability"),
    [
        ("conversation/redact_turns", "erasure of turns"),
        ("conversation/turn_redactions", "erasure of turns"),
        ("store/scopes", "whole units in and out"),
        ("store/conversations", "whole units in and out"),
        ("store/restore_scope", "whole units in and out"),
        ("store/restore_conversation", "whole units in and out"),
    ],
)
async def test_a_route_without_its_capability_says_so(
    wire: Wire, route: str, capability: str
) -> None:
    assert_refused(
        await wire.post(route, "{}"),
        f"PlainStore does not support {capability}",
        code="agent_configuration_error",
    )
