"""Which cases a run has."""

from bench.run import CASES, ON_REQUEST, chosen


def test_what_takes_half_an_hour_is_only_run_by_its_name() -> None:
    assert set(CASES) - set(chosen(None)) == ON_REQUEST
    assert chosen(["reads", "large-store"]) == ["reads", "large-store"]
