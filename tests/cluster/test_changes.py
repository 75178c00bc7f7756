"""What each helm does with a release, while clients are at work."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

from tests.cluster.conftest import Demo
from tests.support.cluster.callers import Call
from tests.support.cluster.commands import names_of
from tests.support.cluster.releases import restarts
from tests.support.histories.records import Violation

# A minute is what is promised of one install; here two share the machine.
READY_SECONDS = 150


def test_both_installs_are_ready_side_by_side(demos: dict[int, Demo]) -> None:
    for demo in demos.values():
        assert demo.install_seconds < READY_SECONDS
        pods = demo.release.all_pods()
        assert len(pods) == 2 + 2 + 1
        assert restarts(pods) == 0


def test_helm_test_succeeds_and_shows_its_log_each_time(demos: dict[int, Demo]) -> None:
    for _ in range(2):
        with ThreadPoolExecutor() as executor:
            said = executor.map(lambda demo: demo.release.helm("test", "--logs"), demos.values())
        for text in said:
            assert re.search(r"Phase: +Succeeded", text)
            assert text.count("is redacted") == 2


def test_an_upgrade_that_changes_nothing_restarts_no_pod(demo: Demo) -> None:
    before = names_of(demo.release.all_pods())
    demo.release.upgrade()
    after = demo.release.all_pods()
    assert names_of(after) == before
    assert restarts(after) == 0


def test_upgrades_and_rollbacks_fail_no_call_and_lose_nothing(demos: dict[int, Demo]) -> None:
    with ThreadPoolExecutor() as executor:
        for failures, violations in executor.map(_upgrade_and_roll_back, demos.values()):
            assert failures == []
            assert violations == []


def _upgrade_and_roll_back(demo: Demo) -> tuple[list[Call], list[Violation]]:
    release = demo.release
    began = time.monotonic()
    installed = names_of(release.all_pods())
    with demo.callers() as callers:
        release.upgrade(logLevel="warning")
        callers.go_on()
        upgraded = names_of(release.all_pods()) - installed
        assert len(upgraded) == 2 + 2 + 1
        release.helm("rollback", "--wait", "--timeout", "4m")
        release.settle_all()
        callers.go_on()
    assert names_of(release.all_pods()).isdisjoint(installed | upgraded)
    return callers.failures_since(began), callers.violations()
