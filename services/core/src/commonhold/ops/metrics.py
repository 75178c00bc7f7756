"""Prometheus metrics of one process. Names and labels are those of docs/reference/metrics.md.

Label values come from closed sets known at start, so that no client can add a child. A
registry belongs to one service object: nothing is global. What every request touches are
plain numbers, read when the metrics are scraped: a process has one event loop, and the
library's own counters take a lock each time.
"""

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from time import perf_counter
from typing import Protocol, TypeVar, get_args

import prometheus_client
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from commonhold.contract.errors import (
    CommonholdError,
    MemoryConflictReason,
    StoreUnavailableError,
)
from commonhold.contract.gardens import Backlog

DURATION_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
PASS_BUCKETS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
CONFLICT_REASONS: tuple[str, ...] = get_args(MemoryConflictReason)
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


class Durations:
    """A histogram of seconds: one count a bucket, and their sum."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: Sequence[float] = DURATION_BUCKETS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._sum += seconds

    def add_to(self, family: HistogramMetricFamily, labels: Sequence[str]) -> None:
        bounds = [*map(str, self._bounds), "+Inf"]
        buckets = list(zip(bounds, accumulate(self._counts), strict=True))
        family.add_metric(labels, buckets=buckets, sum_value=self._sum)


class Metrics:
    """The registry and the metrics that all services share."""

    def __init__(self, *, version: str, revision: str) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        prometheus_client.ProcessCollector(registry=self.registry)
        prometheus_client.PlatformCollector(registry=self.registry)
        self.schema_version = Gauge(
            "commonhold_schema_version",
            "Version of the database schema as last read.",
            registry=self.registry,
        )
        build = Gauge(
            "commonhold_build_info",
            "Always 1; the labels say what runs.",
            ["version", "revision"],
            registry=self.registry,
        )
        build.labels(version, revision).set(1)
        self._conflicts = dict.fromkeys(CONFLICT_REASONS, 0)
        self.pool_wait = Durations()
        self._has_pool = True
        self._collect(self._collect_shared)

    def count_conflict(self, reason: str) -> None:
        self._conflicts[reason] += 1

    def watch_readiness(self, is_ready: Callable[[], bool]) -> None:
        """Ask whenever the metrics are scraped."""
        self._collect(
            lambda: [
                GaugeMetricFamily(
                    "commonhold_ready",
                    "1 while this process may take traffic.",
                    value=float(is_ready()),
                )
            ]
        )

    def watch_pool(self, pool: PoolGauges) -> None:
        """Read the pool's own attributes whenever the metrics are scraped."""
        self._collect(lambda: _pool_families(pool))

    def watch_service(self, is_up: Callable[[], bool]) -> None:
        """Tell of a state service in place of a database, of which nothing is told then."""
        self.registry.unregister(self.schema_version)
        self._has_pool = False
        self._collect(
            lambda: [
                GaugeMetricFamily(
                    "commonhold_state_up",
                    "1 when the last look at the state service succeeded.",
                    value=float(is_up()),
                )
            ]
        )

    def watch_replays(self, count: Callable[[], int]) -> None:
        """Read the store's own count whenever the metrics are scraped."""
        self._collect(
            lambda: [
                CounterMetricFamily(
                    "commonhold_idempotent_replays_total",
                    "Answers given from a stored idempotency key.",
                    value=count(),
                )
            ]
        )

    def operations(self, names: Iterable[str]) -> "OperationTimers":
        timers = OperationTimers(names)
        self._collect(timers.families)
        return timers

    def http(self, *, service: str, routes: Iterable[str], reasons: Iterable[str]) -> "HttpMetrics":
        http = HttpMetrics(service=service, routes=routes, reasons=reasons)
        self._collect(http.families)
        return http

    def tools(self, names: Iterable[str], *, outcomes: Iterable[str]) -> "ToolMetrics":
        tools = ToolMetrics(names, outcomes=outcomes)
        self._collect(tools.families)
        return tools

    def watch_counts(
        self,
        name: str,
        meaning: str,
        *,
        labels: Sequence[str],
        read: Callable[[], Iterable[tuple[Sequence[str], int]]],
    ) -> None:
        """A counter whose children, a closed set, are read whenever the metrics are scraped."""

        def families() -> Iterator[Metric]:
            family = CounterMetricFamily(name, meaning, labels=labels)
            for values, count in read():
                family.add_metric(values, count)
            yield family

        self._collect(families)

    def upkeep(
        self, *, gardens: Iterable[str] = (), actions: Iterable[str], skips: Iterable[str]
    ) -> "UpkeepMetrics":
        upkeep = UpkeepMetrics(gardens=gardens, actions=actions, skips=skips)
        self._collect(upkeep.families)
        return upkeep

    def render(self) -> bytes:
        return generate_latest(self.registry)

    def _collect(self, families: Callable[[], Iterable[Metric]]) -> None:
        self.registry.register(_Families(families))

    def _collect_shared(self) -> Iterator[Metric]:
        conflicts = CounterMetricFamily(
            "commonhold_conflicts_total", "Conflicts answered, by reason.", labels=["reason"]
        )
        for reason, count in self._conflicts.items():
            conflicts.add_metric([reason], count)
        yield conflicts
        if not self._has_pool:
            return
        waits = HistogramMetricFamily(
            "commonhold_pool_wait_seconds", "Time spent waiting for a connection of the pool."
        )
        self.pool_wait.add_to(waits, [])
        yield waits


class HttpMetrics:
    """Requests of one service, by route; an unknown route or reason is a KeyError."""

    def __init__(self, *, service: str, routes: Iterable[str], reasons: Iterable[str]) -> None:
        self._service = service
        self._durations = {route: Durations() for route in routes}
        self._answered: dict[tuple[str, int], int] = {}
        self._rejected = dict.fromkeys(reasons, 0)
        self._in_flight: Callable[[], int] = int

    def watch_in_flight(self, count: Callable[[], int]) -> None:
        self._in_flight = count

    def answered(self, route: str, status: int, *, started: float) -> None:
        """Count one answer; `started` is a reading of `perf_counter`."""
        self._durations[route].observe(perf_counter() - started)
        key = (route, status)
        self._answered[key] = self._answered.get(key, 0) + 1

    def rejected(self, reason: str) -> None:
        self._rejected[reason] += 1

    def families(self) -> Iterator[Metric]:
        yield self._requests()
        durations = HistogramMetricFamily(
            "commonhold_http_request_duration_seconds",
            "From the head of the request to the end of its answer.",
            labels=["service", "route"],
        )
        for route, histogram in self._durations.items():
            histogram.add_to(durations, [self._service, route])
        yield durations
        rejected = CounterMetricFamily(
            "commonhold_rejected_total",
            "Requests answered 503 or 408, by reason.",
            labels=["service", "reason"],
        )
        for reason, count in self._rejected.items():
            rejected.add_metric([self._service, reason], count)
        yield rejected
        in_flight = GaugeMetricFamily(
            "commonhold_in_flight", "Requests being served now.", labels=["service"]
        )
        in_flight.add_metric([self._service], self._in_flight())
        yield in_flight

    def _requests(self) -> Metric:
        family = CounterMetricFamily(
            "commonhold_http_requests_total",
            "Requests answered.",
            labels=["service", "route", "status"],
        )
        for (route, status), count in self._answered.items():
            family.add_metric([self._service, route, str(status)], count)
        return family


class ToolMetrics:
    """Tool calls, by tool and outcome; an unknown one of either is a KeyError."""

    def __init__(self, names: Iterable[str], *, outcomes: Iterable[str]) -> None:
        kinds = tuple(outcomes)
        self._durations = {name: Durations() for name in names}
        self._calls = {(name, kind): 0 for name in self._durations for kind in kinds}

    def called(self, tool: str, outcome: str, *, started: float) -> None:
        """Count one call; `started` is a reading of `perf_counter`."""
        self._durations[tool].observe(perf_counter() - started)
        self._calls[tool, outcome] += 1

    def families(self) -> Iterator[Metric]:
        calls = CounterMetricFamily(
            "commonhold_tool_calls_total", "Tool calls answered.", labels=["tool", "outcome"]
        )
        for labels, count in self._calls.items():
            calls.add_metric(labels, count)
        yield calls
        durations = HistogramMetricFamily(
            "commonhold_tool_call_duration_seconds",
            "From the arguments of a tool call to its result.",
            labels=["tool"],
        )
        for tool, histogram in self._durations.items():
            histogram.add_to(durations, [tool])
        yield durations


class UpkeepMetrics:
    """What a worker did; actions and skips are closed sets, and gardens those of its file."""

    def __init__(
        self, *, gardens: Iterable[str] = (), actions: Iterable[str], skips: Iterable[str]
    ) -> None:
        self._gardens = tuple(gardens)
        self._actions = dict.fromkeys(actions, 0)
        self._skips = dict.fromkeys(skips, 0)
        self._durations = Durations(PASS_BUCKETS)
        self._spent_micro_usd = 0
        self._succeeded: Mapping[str, datetime | None] = {}
        self._backlog = Backlog()

    def passed(self, seconds: float) -> None:
        self._durations.observe(seconds)

    def acted(self, counts: Mapping[str, int]) -> None:
        for kind, count in counts.items():
            self._actions[kind] += count

    def skipped(self, counts: Mapping[str, int]) -> None:
        for reason, count in counts.items():
            self._skips[reason] += count

    def spent(self, micro_usd: int) -> None:
        self._spent_micro_usd += micro_usd

    def seen(self, succeeded: Mapping[str, datetime | None], backlog: Backlog) -> None:
        """What the last look at the database showed, of all workers together."""
        self._succeeded = succeeded
        self._backlog = backlog

    def families(self) -> Iterator[Metric]:
        yield _counted("commonhold_upkeep_actions_total", "Changes made.", "kind", self._actions)
        yield _counted(
            "commonhold_upkeep_skips_total", "Changes not made, by reason.", "reason", self._skips
        )
        gardens = GaugeMetricFamily(
            "commonhold_upkeep_garden_info",
            "Always 1; the label names a garden that is to be tended.",
            labels=["garden"],
        )
        for garden in self._gardens:
            gardens.add_metric([garden], 1)
        yield gardens
        success = GaugeMetricFamily(
            "commonhold_upkeep_last_success_timestamp_seconds",
            "When a pass last did all it was there for, by any worker.",
            labels=["garden"],
        )
        for garden, moment in self._succeeded.items():
            if moment is not None:
                success.add_metric([garden], moment.timestamp())
        yield success
        durations = HistogramMetricFamily(
            "commonhold_upkeep_pass_duration_seconds", "Passes, however they ended."
        )
        self._durations.add_to(durations, [])
        yield durations
        yield GaugeMetricFamily(
            "commonhold_job_queue_depth", "Jobs that wait or run.", value=self._backlog.depth
        )
        yield GaugeMetricFamily(
            "commonhold_job_oldest_seconds",
            "How long the oldest claim of a job has been held.",
            value=self._backlog.oldest_seconds,
        )
        yield CounterMetricFamily(
            "commonhold_model_spend_usd_total",
            "Cost of the model's answers, by the prices of the settings.",
            value=self._spent_micro_usd / 1_000_000,
        )


def _counted(name: str, said: str, label: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, said, labels=[label])
    for value, count in counts.items():
        family.add_metric([value], count)
    return family


class OperationTimers:
    """Durations of store operations, by operation and outcome."""

    def __init__(self, names: Iterable[str]) -> None:
        self._durations: Mapping[str, Mapping[str, Durations]] = {
            name: {outcome: Durations() for outcome in OUTCOMES} for name in names
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
            self._durations[operation][outcome].observe(perf_counter() - started)
        return result

    def families(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(
            "commonhold_store_operation_duration_seconds",
            "Calls of the store.",
            labels=["operation", "outcome"],
        )
        for operation, outcomes in self._durations.items():
            for outcome, histogram in outcomes.items():
                histogram.add_to(family, [operation, outcome])
        yield family


def _outcome_of(error: BaseException) -> str:
    if isinstance(error, StoreUnavailableError):
        return UNAVAILABLE
    return REFUSED if isinstance(error, CommonholdError) or type(error) is ValueError else FAILED


def _pool_families(pool: PoolGauges) -> Iterator[Metric]:
    connections = GaugeMetricFamily(
        "commonhold_pool_connections", "Connections to the database.", labels=["state"]
    )
    connections.add_metric(["in_use"], pool.in_use)
    connections.add_metric(["idle"], pool.idle)
    yield connections
    yield GaugeMetricFamily(
        "commonhold_pool_waiting", "Requests waiting for a connection now.", value=pool.waiting
    )
    yield GaugeMetricFamily(
        "commonhold_database_up",
        "1 when the last probe of the database succeeded.",
        value=float(pool.is_up),
    )


class _Families(Collector):
    """A collector from a function."""

    def __init__(self, families: Callable[[], Iterable[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families()
