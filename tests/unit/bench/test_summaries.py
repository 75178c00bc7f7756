"""Percentiles, medians and ratios over rounds made by hand."""

import pytest

from bench.loads import Outcome
from bench.summaries import Round, median_ratio, percentile, side_of, summarise


def _round(side: str, number: int, *, per_second: float, p50: float = 1.0) -> Round:
    return Round(
        side=side, number=number, per_second=per_second, p50_ms=p50, p95_ms=2.0, p99_ms=3 * p50
    )


def test_percentiles_are_interpolated_between_ranks() -> None:
    assert percentile([10.0, 20.0], 50) == 15.0
    assert percentile([1.0, 2.0, 3.0, 4.0, 5.0], 25) == 2.0
    assert percentile([1.0, 2.0, 3.0], 100) == 3.0
    assert percentile([7.0], 99) == 7.0


def test_no_answers_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="nothing was answered"):
        percentile([], 50)


def test_a_round_is_in_milliseconds_whatever_order_the_answers_came_in() -> None:
    outcome = Outcome(
        seconds=2.0,
        latencies=[0.003, 0.001, 0.002],
        statuses={200: 3, 503: 1},
        failures={},
        hung=0,
        first_body=b"",
    )
    one = summarise(outcome, side="service", number=0)
    assert (one.per_second, one.p50_ms) == (1.5, 2.0)
    assert one.quantiles_ms[0] == 1.0
    assert one.quantiles_ms[100] == 3.0
    assert outcome.faults == 1


def test_a_side_is_the_median_of_its_own_rounds() -> None:
    rounds = [
        _round("service", 0, per_second=10, p50=1.0),
        _round("service", 1, per_second=90, p50=9.0),
        _round("service", 2, per_second=30, p50=2.0),
        _round("echo", 0, per_second=1000),
    ]
    side = side_of(rounds, "service")
    assert (side.per_second, side.p50_ms) == (30, 2.0)
    assert side.tail == 3.0


def test_a_ratio_compares_what_ran_in_the_same_round() -> None:
    # The machine was four times as slow in the second round, for both.
    rounds = [
        _round("service", 0, per_second=80),
        _round("floor", 0, per_second=100),
        _round("service", 1, per_second=20),
        _round("floor", 1, per_second=25),
        _round("service", 2, per_second=90),
        _round("floor", 2, per_second=50),
    ]
    assert median_ratio(rounds, "service", denominator="floor") == 0.8
