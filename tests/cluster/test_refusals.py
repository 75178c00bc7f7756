"""What is wrong with an installation is said, with what to do, before anything serves."""

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.support.cluster.commands import (
    CommandError,
    Namespace,
    container_statuses,
    eventually,
)
from tests.support.cluster.releases import ROLLBACK_FLAG, Release, alone
from tests.support.helm import MAJORS


@contextmanager
def applied(release: Release) -> Iterator[None]:
    """Everything of the release, made without waiting for any of it."""
    release.with_values(verb="install")
    try:
        yield
    finally:
        release.helm("uninstall")


def test_a_secret_that_is_missing_is_named_and_nothing_runs(site: Namespace) -> None:
    release = alone(site, tokens={"existingSecret": "no-such-secret"})
    with applied(release):
        eventually(lambda: '"no-such-secret" not found' in site.events(), "it is said")
        (pod,) = release.pods("state")
        statuses = [*pod["status"].get("initContainerStatuses", []), *container_statuses(pod)]
        assert all("waiting" in status["state"] for status in statuses)


@pytest.mark.parametrize("major", MAJORS)
def test_an_install_that_fails_leaves_nothing_when_told_so(site: Namespace, major: int) -> None:
    release = alone(site, major=major, tokens={"existingSecret": "no-such-secret"})
    with pytest.raises(CommandError):
        release.install(ROLLBACK_FLAG[major], "--timeout", "8s")
    kinds = "deployments,services,jobs,networkpolicies,serviceaccounts,configmaps,secrets"
    eventually(
        lambda: site.get(kinds, "--selector", release.selector)["items"] == [], "all is gone"
    )


def test_a_schema_of_a_newer_release_is_refused_with_what_to_do(site: Namespace) -> None:
    newer = alone(site)
    schema = newer.values["postgres"]["schema"]
    with applied(newer):
        newer.settle("state", 1)
    newer.psql(f"UPDATE {schema}.schema_state SET version = 99, compatible_from = 99")
    release = alone(site, postgres={"schema": schema})
    with applied(release):
        for component, container in (("migrate", "migrate"), ("state", "schema")):
            selector = f"{release.selector},app.kubernetes.io/component={component}"
            logs = functools.partial(site.logs, "--selector", selector, "--container", container)
            eventually(functools.partial(_tells_of_newer, logs), f"{component} says what to do")
        (pod,) = release.pods("state")
        assert all("waiting" in status["state"] for status in container_statuses(pod))


def test_a_bad_token_table_is_explained_without_its_tokens(site: Namespace) -> None:
    site.put_secret("bad-tokens", {"token": "client:ana=one,client:ana=two"})
    release = alone(site, tokens={"existingSecret": "bad-tokens"})
    with applied(release):
        eventually(lambda: "NEOSIAN_SERVE_TOKEN" in _last_words(release), "the pod says why")
        words = _last_words(release)
        assert "entry 2 repeats a token or an actor" in words
        assert not re.search(r"\b(one|two)\b", words)


def test_a_pool_budget_over_the_limit_is_refused_with_the_sum(site: Namespace) -> None:
    release = alone(site, state={"poolSize": 60})
    with pytest.raises(CommandError, match=r"the connection budget is 134 .* Lower a poolSize"):
        release.install()
    assert site.get("deployments", "--selector", release.selector)["items"] == []


def _tells_of_newer(logs: Callable[[], str]) -> bool:
    return "run a newer release" in logs()


def _last_words(release: Release) -> str:
    """What the state container said when it ended, as `kubectl describe pod` shows it."""
    words = []
    for pod in release.pods("state"):
        for status in container_statuses(pod):
            ended = status["state"].get("terminated") or status["lastState"].get("terminated") or {}
            words.append(str(ended.get("message", "")))
    return "\n".join(words)
