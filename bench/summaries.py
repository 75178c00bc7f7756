"""Percentiles of a round and medians of rounds; what a ratio is made of."""

from collections.abc import Sequence
from statistics import median

import msgspec

from bench.loads import Outcome

_MILLISECONDS = 1000.0


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One side of one round: a rate, and latencies in milliseconds where there are any.

    `quantiles_ms` are the 0th to the 100th percentile, kept as raw data.
    """

    side: str
    number: int
    per_second: float
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    quantiles_ms: list[float] = []
    statuses: dict[int, int] = {}
    failures: dict[str, int] = {}
    hung: int = 0


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """The medians of a side's rounds."""

    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float

    @property
    def tail(self) -> float:
        """How many times the usual answer the slowest of a hundred takes."""
        return self.p99_ms / self.p50_ms


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` percent of the ordered values lie, interpolated."""
    if not ordered:
        raise ValueError("no values: nothing was answered")
    position = (len(ordered) - 1) * share / 100
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def summarise(outcome: Outcome, *, side: str, number: int) -> Round:
    """ValueError when not a single answer was a 200."""
    ordered = sorted(latency * _MILLISECONDS for latency in outcome.latencies)
    return Round(
        side=side,
        number=number,
        per_second=outcome.rate,
        p50_ms=percentile(ordered, 50),
        p95_ms=percentile(ordered, 95),
        p99_ms=percentile(ordered, 99),
        quantiles_ms=[round(percentile(ordered, share), 4) for share in range(101)],
        statuses=outcome.statuses,
        failures=outcome.failures,
        hung=outcome.hung,
    )


def side_of(rounds: Sequence[Round], name: str) -> Side:
    """The medians of one side; a side without latencies has zeros there."""
    own = [one for one in rounds if one.side == name]
    return Side(
        per_second=median(one.per_second for one in own),
        p50_ms=median(one.p50_ms or 0.0 for one in own),
        p95_ms=median(one.p95_ms or 0.0 for one in own),
        p99_ms=median(one.p99_ms or 0.0 for one in own),
    )


def median_ratio(rounds: Sequence[Round], numerator: str, *, denominator: str) -> float:
    """The median of the rounds' own ratios of rates.

    Both sides of a round ran within seconds of each other, so what else the machine did
    weighs on both; the ratio of two medians may take its halves from different minutes.
    """
    by_round: dict[int, dict[str, float]] = {}
    for one in rounds:
        by_round.setdefault(one.number, {})[one.side] = one.per_second
    return median(sides[numerator] / sides[denominator] for sides in by_round.values())
