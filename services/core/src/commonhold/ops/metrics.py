"""Prometheus metrics of one process. Names and labels are those of docs/reference/metrics.md.

Label values come from closed sets known at start, so that every child exists before the
first request and no client can add one. A registry belongs to one service object: nothing
is global.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from time import perf_counter
from typing import Protocol, TypeVar

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from commonhold.contract.errors import CommonholdError, StoreUnavailableError

REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONFLICT_REASONS = (
    "version_mismatch",
    "document_absent",
    "destination_exists",
    "target_occupied",
    "case_collision",
    "layout_clash",
)
OK = "ok"
REFUSED = "refused"
UNAVAILABLE = "unavailable"
FAILED = "failed"
OUTCOMES = (OK, REFUSED, UNAVAILABLE, FAILED)

T = TypeVar("T")


class PoolGauges(Protocol):
    """What a connection pool says about itself; reading it is cheap."""

    @property
    def in_use(self) -> int: ...
    @property
    def idle(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def is_up(self) -> bool: ...


class Metrics:
    """The registry and the metrics that all services share."""

    def __init__(self, *, version: str, revision: str) -> None:
        # A `_created` series beside every counter would double what is scraped, and the
        # names of docs/reference/metrics.md are all the names there are.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry(auto_describe=True)
        prometheus_client.ProcessCollector(registry=self.registry)
        prometheus_client.PlatformCollector(registry=self.registry)
        self._conflicts = Counter(
            "commonhold_conflicts_total",
            "Conflicts answered, by reason.",
            ["reason"],
            registry=self.registry,
        )
        self._conflict_of = {reason: self._conflicts.labels(reason) for reason in CONFLICT_REASONS}
        self.schema_version = Gauge(
            "commonhold_schema_version",
            "Version of the database schema as last read.",
            registry=self.registry,
        )
        self.pool_wait = Histogram(
            "commonhold_pool_wait_seconds",
            "Time spent waiting for a connection of the pool.",
            buckets=REQUEST_BUCKETS,
            registry=self.registry,
        )
        build = Gauge(
            "commonhold_build_info",
            "Always 1; the labels say what runs.",
            ["version", "revision"],
            registry=self.registry,
        )
        build.labels(version, revision).set(1)

    def count_conflict(self, reason: str) -> None:
        self._conflict_of[reason].inc()

    def watch_pool(self, pool: PoolGauges) -> None:
        """Read the pool's own attributes whenever the metrics are scraped."""
        self.registry.register(_PoolCollector(pool))

    def watch_replays(self, count: Callable[[], int]) -> None:
        """Read the store's own count whenever the metrics are scraped."""
        self.registry.register(_ReplayCollector(count))

    def operations(self, names: Iterable[str]) -> "OperationTimers":
        return OperationTimers(self.registry, names)

    def http(self, *, service: str, routes: Iterable[str], reasons: Iterable[str]) -> "HttpMetrics":
        return HttpMetrics(self.registry, service=service, routes=routes, reasons=reasons)

    def render(self) -> bytes:
        return generate_latest(self.registry)


class HttpMetrics:
    """Requests of one service, with a child for every route and reason made at start."""

    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        service: str,
        routes: Iterable[str],
        reasons: Iterable[str],
    ) -> None:
        self._service = service
        self._requests = Counter(
            "commonhold_http_requests_total",
            "Requests answered.",
            ["service", "route", "status"],
            registry=registry,
        )
        durations = Histogram(
            "commonhold_http_request_duration_seconds",
            "From the head of the request to the end of its answer.",
            ["service", "route"],
            buckets=REQUEST_BUCKETS,
            registry=registry,
        )
        rejected = Counter(
            "commonhold_rejected_total",
            "Requests answered 503 or 408, by reason.",
            ["service", "reason"],
            registry=registry,
        )
        in_flight = Gauge(
            "commonhold_in_flight", "Requests being served now.", ["service"], registry=registry
        )
        self._in_flight = in_flight.labels(service)
        self._observe = {route: durations.labels(service, route).observe for route in routes}
        self._rejected = {reason: rejected.labels(service, reason) for reason in reasons}
        self._answered: dict[tuple[str, int], Counter] = {}

    def watch_in_flight(self, count: Callable[[], int]) -> None:
        self._in_flight.set_function(count)

    def answered(self, route: str, status: int, *, started: float) -> None:
        """Count one answer; `started` is a reading of `perf_counter`."""
        counter = self._answered.get((route, status))
        if counter is None:
            counter = self._requests.labels(self._service, route, str(status))
            self._answered[route, status] = counter
        counter.inc()
        self._observe[route](perf_counter() - started)

    def rejected(self, reason: str) -> None:
        self._rejected[reason].inc()


class OperationTimers:
    """Durations of store operations, by operation and outcome."""

    def __init__(self, registry: CollectorRegistry, names: Iterable[str]) -> None:
        histogram = Histogram(
            "commonhold_store_operation_duration_seconds",
            "Calls of the store.",
            ["operation", "outcome"],
            buckets=REQUEST_BUCKETS,
            registry=registry,
        )
        self._observe = {
            name: {outcome: histogram.labels(name, outcome).observe for outcome in OUTCOMES}
            for name in names
        }

    async def measure(self, operation: str, call: Awaitable[T]) -> T:
        """Await the call and record how long it took and how it ended."""
        started = perf_counter()
        outcome = FAILED
        try:
            result = await call
            outcome = OK
        except BaseException as error:
            outcome = _outcome_of(error)
            raise
        finally:
            self._observe[operation][outcome](perf_counter() - started)
        return result


def _outcome_of(error: BaseException) -> str:
    if isinstance(error, StoreUnavailableError):
        return UNAVAILABLE
    return REFUSED if isinstance(error, CommonholdError) or type(error) is ValueError else FAILED


class _PoolCollector(Collector):
    def __init__(self, pool: PoolGauges) -> None:
        self._pool = pool

    def collect(self) -> Iterator[Metric]:
        connections = GaugeMetricFamily(
            "commonhold_pool_connections", "Connections to the database.", labels=["state"]
        )
        connections.add_metric(["in_use"], self._pool.in_use)
        connections.add_metric(["idle"], self._pool.idle)
        yield connections
        yield GaugeMetricFamily(
            "commonhold_pool_waiting",
            "Requests waiting for a connection now.",
            value=self._pool.waiting,
        )
        yield GaugeMetricFamily(
            "commonhold_database_up",
            "1 when the last probe of the database succeeded.",
            value=float(self._pool.is_up),
        )


class _ReplayCollector(Collector):
    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count

    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily(
            "commonhold_idempotent_replays_total",
            "Answers given from a stored idempotency key.",
            value=self._count(),
        )
