"""Everything that an operator or an accident does to a release, while clients are at work.

One run of the clients lasts through all of it and is judged at the end: what each step
adds is that no call failed meanwhile for a client that repeats it once.
"""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import pytest

from tests.cluster.conftest import Demo
from tests.support.cluster.callers import Callers
from tests.support.cluster.commands import CommandError, eventually, is_ready, names_of
from tests.support.cluster.hammers import hammer
from tests.support.cluster.releases import (
    DEMO_POSTGRES,
    DEMO_SECRET,
    REPLICAS,
    ROLLBACK_FLAG,
    Release,
    restarts,
)

SERVING = ("state", "gateway")
POSTGRES_POD = f"{DEMO_POSTGRES}-0"
# Each replica looks once a second whether the database is back; a busy machine takes longer.
NOTICED_SECONDS = 15.0


@pytest.fixture(scope="module")
def demo(demos: dict[int, Demo]) -> Demo:
    return demos[4]


@pytest.fixture(scope="module")
def release(demo: Demo) -> Release:
    return demo.release


@pytest.fixture(scope="module")
def callers(demo: Demo) -> Iterator[Callers]:
    with demo.callers() as callers:
        yield callers


@contextmanager
def no_failed_call(callers: Callers) -> Iterator[None]:
    began = time.monotonic()
    yield
    callers.go_on()
    assert callers.failures_since(began) == []


def test_scaling_from_one_to_three_and_back_fails_no_call(
    release: Release, callers: Callers
) -> None:
    with no_failed_call(callers):
        for count in (1, 3, 1, 2):
            for component in SERVING:
                deployment = f"deployment/{release.deployment(component)}"
                release.namespace.kubectl("scale", deployment, f"--replicas={count}")
            release.settle_all(state=count, gateway=count)


def test_an_eviction_leaves_one_ready_and_is_refused_the_other(
    release: Release, callers: Callers
) -> None:
    with no_failed_call(callers):
        for component in SERVING:
            taken, kept = sorted(names_of(release.pods(component)))
            _evict(release, taken)
            with pytest.raises(CommandError, match="disruption budget"):
                _evict(release, kept)
            assert is_ready(release.namespace.get("pod", kept))
        release.settle_all()


def test_a_token_is_rotated_while_both_are_good(
    demo: Demo, release: Release, callers: Callers
) -> None:
    with no_failed_call(callers):
        old, new = demo.token, secrets.token_hex(12)
        release.namespace.put_secret(DEMO_SECRET, {"token": new, "previous": old})
        _restart(release)
        callers.use_token(new)
    assert demo.status_for(old) == HTTPStatus.OK


def test_a_restart_takes_the_old_token_away(demo: Demo, release: Release, callers: Callers) -> None:
    old = demo.secret("previous")
    with no_failed_call(callers):
        release.namespace.put_secret(DEMO_SECRET, {"previous": secrets.token_hex(12)})
        _restart(release)
    assert demo.status_for(old) == HTTPStatus.UNAUTHORIZED


def test_every_pod_of_ours_may_be_deleted(release: Release, callers: Callers) -> None:
    with no_failed_call(callers):
        for component, count in REPLICAS.items():
            for name in sorted(names_of(release.pods(component))):
                release.namespace.kubectl("delete", "pod", name, "--wait=false")
                _await_replacement(release, component, count=count, name=name)
        release.settle_all()


def test_a_failed_migration_leaves_the_old_release_serving_and_says_why(
    release: Release, callers: Callers
) -> None:
    release.psql("CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.somebodys (id int);")

    def fail(*flags: str) -> None:
        broken = {"postgres": {"schema": "elsewhere"}, "migration": {"backoffLimit": 0}}
        with pytest.raises(CommandError):
            release.upgrade("--timeout", "30s", *flags, **broken)

    with no_failed_call(callers):
        before = names_of(release.all_pods())
        fail()
        ready = [pod for pod in release.all_pods() if is_ready(pod)]
        assert names_of(ready) == before
        said = release.namespace.logs("-l", "app.kubernetes.io/component=migrate", "--tail", "20")
        assert "somebodys" in said
        fail(ROLLBACK_FLAG[release.major])
        release.settle_all()
        assert names_of(release.all_pods()) == before
        assert (
            json.loads(release.helm("status", "--output", "json"))["info"]["status"] == "deployed"
        )


def test_postgres_may_be_killed(release: Release, callers: Callers) -> None:
    pod = release.namespace.get("pod", POSTGRES_POD)
    with hammer("commonhold-state:local") as tool, failing_only_while_away(release, callers):
        tool.kill_first_process(pod, named="postgres")
        eventually(lambda: restarts([release.namespace.get("pod", POSTGRES_POD)]), "it is back")


def test_postgres_may_be_deleted_and_keeps_its_data(release: Release, callers: Callers) -> None:
    with failing_only_while_away(release, callers):
        release.namespace.kubectl("delete", "pod", POSTGRES_POD)


def test_nothing_acknowledged_was_lost_and_nothing_was_done_twice(
    release: Release, callers: Callers
) -> None:
    callers.stop()
    assert callers.violations() == []
    assert restarts(release.all_pods()) == 0


@contextmanager
def failing_only_while_away(release: Release, callers: Callers) -> Iterator[None]:
    """Postgres goes away in the block: calls fail from then until it is back, with 503 alone."""
    gone = time.monotonic()
    yield
    eventually(lambda: is_ready(release.namespace.get("pod", POSTGRES_POD)), "Postgres is back")
    back = time.monotonic()
    callers.go_on()
    calls = callers.since(gone)
    assert any(len(call.outcomes) > 1 for call in calls)
    failed = [call for call in calls if call.failed]
    assert [call for call in failed if not call.unavailable] == []
    assert [call for call in failed if call.began > back + NOTICED_SECONDS] == []


def _restart(release: Release) -> None:
    before = names_of(release.all_pods())
    release.namespace.kubectl("rollout", "restart", "deployment", "-l", release.selector)
    for component in REPLICAS:
        deployment = f"deployment/{release.deployment(component)}"
        release.namespace.kubectl("rollout", "status", deployment, "--timeout=110s")
    release.settle_all()
    assert names_of(release.all_pods()).isdisjoint(before)


def _evict(release: Release, pod: str) -> None:
    path = f"/api/v1/namespaces/{release.namespace.name}/pods/{pod}/eviction"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    release.namespace.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))


def _await_replacement(release: Release, component: str, *, count: int, name: str) -> None:
    def replaced() -> bool:
        ready = names_of([pod for pod in release.pods(component) if is_ready(pod)])
        return len(ready) == count and name not in ready

    eventually(replaced, f"{name} is replaced")
