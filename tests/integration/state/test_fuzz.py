"""A hundred thousand generated bodies over every route: no 5xx, no connection lost.

The whole number goes through a real socket to the in-memory store, and a part of it to
Postgres. The seed is fixed here, so that a run is repeatable; a failure names its own.
"""

from commonhold.adapters.in_memory import InMemoryStore
from commonhold_state.routes import ROUTES
from tests.support.fuzzing import assert_all_readable, bombard
from tests.support.wire_fuzz import TEMPLATES, shots
from tests.support.wire_service import Wire, running

SEED = 20261130
BODIES = 100_000
BODIES_ON_POSTGRES = 4_000


def test_every_route_is_fuzzed() -> None:
    assert {f"/v1/{route}" for route in TEMPLATES} == {route.path for route in ROUTES}
    assert {shot.route for shot in shots(SEED, 1000)} == set(TEMPLATES)


async def test_a_hundred_thousand_bodies() -> None:
    async with running(InMemoryStore()) as wire:
        statuses = await bombard(wire, seed=SEED, count=BODIES)
        assert sum(statuses.values()) == BODIES
        # A fuzz that is only ever refused tries nothing behind the door.
        assert min(statuses[200], statuses[400]) > BODIES // 5
        await assert_all_readable(wire)


async def test_a_part_of_them_on_postgres(wire: Wire) -> None:
    statuses = await bombard(wire, seed=SEED, count=BODIES_ON_POSTGRES)
    assert sum(statuses.values()) == BODIES_ON_POSTGRES
    await assert_all_readable(wire)
