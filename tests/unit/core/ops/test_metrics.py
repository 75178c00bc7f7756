"""Names, labels and values as they are scraped (docs/reference/metrics.md)."""

import asyncio
from typing import get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from commonhold.contract.errors import (
    DocumentNotFoundError,
    MemoryConflictError,
    MemoryConflictReason,
    StoreUnavailableError,
)
from commonhold.ops.metrics import CONFLICT_REASONS, Metrics


class Pool:
    in_use = 3
    idle = 2
    waiting = 1
    is_up = True


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(version="1.2.3", revision="abc")


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(metrics.render().decode())
        for sample in family.samples
    }


def test_the_pool_is_read_when_scraped(metrics: Metrics) -> None:
    pool = Pool()
    metrics.watch_pool(pool)
    pool.in_use, pool.waiting, pool.is_up = 5, 9, False
    found = samples(metrics)
    assert found["commonhold_pool_connections", (("state", "in_use"),)] == 5
    assert found["commonhold_pool_connections", (("state", "idle"),)] == 2
    assert found["commonhold_pool_waiting", ()] == 9
    assert found["commonhold_database_up", ()] == 0


def test_requests_are_counted_and_timed_by_route(metrics: Metrics) -> None:
    http = metrics.http(service="state", routes=["/r", "unknown"], reasons=["full"])
    http.watch_in_flight(lambda: 7)
    for status in (200, 200, 404):
        http.answered("/r", status, started=0)
    http.rejected("full")
    found = samples(metrics)
    labels = (("route", "/r"), ("service", "state"))
    name = "commonhold_http_request_duration_seconds_count"
    assert found[name, labels] == 3
    for code, count in (("200", 2), ("404", 1)):
        assert found["commonhold_http_requests_total", (*labels, ("status", code))] == count
    assert found["commonhold_in_flight", (("service", "state"),)] == 7
    key = (("reason", "full"), ("service", "state"))
    assert found["commonhold_rejected_total", key] == 1


def test_durations_cover_a_millisecond_to_ten_seconds(metrics: Metrics) -> None:
    metrics.http(service="state", routes=["/r"], reasons=[])
    bounds = [
        float(dict(labels)["le"])
        for name, labels in samples(metrics)
        if name == "commonhold_http_request_duration_seconds_bucket"
    ]
    assert (min(bounds), sorted(bounds)[-2], max(bounds)) == (0.001, 10.0, float("inf"))


def test_a_label_outside_of_its_set_is_an_error(metrics: Metrics) -> None:
    with pytest.raises(KeyError):
        metrics.count_conflict("whatever a client says")
    http = metrics.http(service="state", routes=["/r"], reasons=["full"])
    with pytest.raises(KeyError):
        http.answered("/user:alice", 200, started=0)


@pytest.mark.parametrize("reason", get_args(MemoryConflictReason))
def test_every_conflict_that_a_store_may_raise_is_counted(
    metrics: Metrics, reason: MemoryConflictReason
) -> None:
    conflict = MemoryConflictError(scope="u:a", path="p", reason=reason)
    metrics.count_conflict(conflict.reason)
    assert samples(metrics)["commonhold_conflicts_total", (("reason", reason),)] == 1


def test_every_conflict_is_there_before_the_first(metrics: Metrics) -> None:
    metrics.count_conflict("version_mismatch")
    found = samples(metrics)
    counts = {
        dict(labels)["reason"]: value
        for (name, labels), value in found.items()
        if name == "commonhold_conflicts_total"
    }
    assert counts == {**dict.fromkeys(CONFLICT_REASONS, 0.0), "version_mismatch": 1.0}


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "ok"),
        (ValueError("limit must be >= 0"), "refused"),
        (DocumentNotFoundError(scope="u:a", path="p"), "refused"),
        (StoreUnavailableError("away"), "unavailable"),
        (KeyError("bug"), "failed"),
        (UnicodeError("bug"), "failed"),
        (asyncio.CancelledError(), "failed"),
    ],
)
async def test_operations_are_timed_by_outcome(
    metrics: Metrics, error: BaseException | None, outcome: str
) -> None:
    timers = metrics.operations(["read"])
    if error is None:
        assert await timers.measure("read", _answer(None)) == 5
    else:
        with pytest.raises(type(error)):
            await timers.measure("read", _answer(error))
    found = samples(metrics)
    name = "commonhold_store_operation_duration_seconds_count"
    for other in ("ok", "refused", "unavailable", "failed"):
        key = (("operation", "read"), ("outcome", other))
        assert found[name, key] == (1 if other == outcome else 0)


async def _answer(error: BaseException | None) -> int:
    if error is not None:
        raise error
    return 5


def test_a_duration_falls_into_the_first_bucket_that_holds_it(metrics: Metrics) -> None:
    for seconds in (0.0005, 0.001, 0.0011, 10.0, 11.0):
        metrics.pool_wait.observe(seconds)
    found = samples(metrics)
    buckets = {
        dict(labels)["le"]: value
        for (name, labels), value in found.items()
        if name == "commonhold_pool_wait_seconds_bucket"
    }
    assert (buckets["0.001"], buckets["0.0025"], buckets["5.0"]) == (2, 3, 3)
    assert (buckets["10.0"], buckets["+Inf"]) == (4, 5)
    assert found["commonhold_pool_wait_seconds_count", ()] == 5
    assert found["commonhold_pool_wait_seconds_sum", ()] == pytest.approx(21.0026)
