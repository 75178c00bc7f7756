"""Each cache with a planted bug under the tests that must see it.

Not collected by its name: test_cache_mutants.py runs it and reads what failed.
"""

from typing import Any

import pytest

from commonhold import conformance
from tests.support.mutants.caches import CACHE_MUTANTS, CacheMutant
from tests.support.steady_clocks import MonotonicClock


def _kit_over(name: str, mutant: CacheMutant) -> type:
    def cache(self: Any) -> Any:
        return mutant.cache(monotonic=MonotonicClock())

    async def pass_time(self: Any, cache: Any, seconds: float) -> None:
        cache._monotonic.seconds += seconds

    kit = getattr(conformance, mutant.kit)
    tests = {test for test in dir(kit) if test.startswith("test_")}
    others = dict.fromkeys(tests - {*mutant.seen_by})
    own = {"cache": pytest.fixture(cache), "pass_time": pass_time}
    return type(f"Test{name}", (kit,), others | own)


globals().update({f"Test{name}": _kit_over(name, mutant) for name, mutant in CACHE_MUTANTS.items()})
