"""Each store with a planted bug under the tests that must see it.

Not collected by its name: test_mutants.py runs it and reads what failed.
"""

from typing import Any

import pytest

from commonhold import conformance
from commonhold.conformance import ControlledClock
from tests.support.mutants import (
    archives,
    bent,
    calls,
    claims,
    conditions,
    conversations,
    digests,
    expirations,
    fences,
    keys,
    memory,
    outlines,
    protocols,
    wholesale,
)
from tests.support.mutants.registry import MUTANTS, Mutant
from tests.support.planting import PlantsInMemory

MODULES = (
    archives,
    bent,
    calls,
    claims,
    conditions,
    conversations,
    digests,
    expirations,
    fences,
    keys,
    memory,
    outlines,
    protocols,
    wholesale,
)
assert all(MODULES), "each module registers its mutants"


def _kit_over(name: str, mutant: Mutant) -> type:
    def clock(self: Any) -> ControlledClock:
        return mutant.clock()

    def store(self: Any, clock: ControlledClock) -> Any:
        return mutant.store(clock=clock)

    kit = getattr(conformance, mutant.kit)
    tests = {test for test in dir(kit) if test.startswith("test_")}
    others = dict.fromkeys(tests - {*mutant.seen_by})
    fixtures = {"clock": pytest.fixture(clock), "store": pytest.fixture(store)}
    return type(f"Test{name}", (PlantsInMemory, kit), others | fixtures)


globals().update({f"Test{name}": _kit_over(name, mutant) for name, mutant in MUTANTS.items()})
