"""Every container of the stack restarted and killed in turn, under clients who remember."""

from collections.abc import Callable

import pytest

from tests.support.compose_stacks import Stack
from tests.support.service_checker import checking

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

# The two of a pair are far apart, so that the first is mostly back when the second goes.
CONTAINERS = (
    *("state", "gateway", "maintenance", "prometheus", "alertmanager", "postgres"),
    *("state-b", "gateway-b", "pgbouncer", "edge", "balancer"),
)
# The slowest start of what a call may wait for, on a machine with much else to do.
MOST_SECONDS = 60.0


def restart(stack: Stack, service: str) -> None:
    stack.compose("restart", service)


@pytest.mark.parametrize("harm", [restart, Stack.crash], ids=["restarted", "killed"])
def test_no_acknowledged_write_is_lost_and_503s_end(
    stack: Stack,
    harm: Callable[[Stack, str], None],
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    assert set(CONTAINERS) == stack.containers().keys() - {"migrate"}
    with checking(stack.balanced_doors) as checker:
        for service in CONTAINERS:
            harm(stack, service)
            checker.wait_for(3)
    record_testsuite_property(f"calls_while_{harm.__name__}", checker.told())
    assert checker.violations() == []
    assert checker.slowest_seconds() < MOST_SECONDS, checker.told()
    # Everybody is back without being started by hand.
    stack.compose("up", "--detach", "--wait", "--no-recreate")
