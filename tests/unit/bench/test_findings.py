"""What passes, what misses, and what is not judged."""

import pytest

from bench.findings import Finding, Target


@pytest.mark.parametrize(
    ("target", "value", "verdict"),
    [
        (Target(at_least=0.8), 0.8, "pass"),
        (Target(at_least=0.8), 0.79, "miss"),
        (Target(at_most=1.2), 1.2, "pass"),
        (Target(at_most=1.2), 1.21, "miss"),
        (Target(at_most=0), 0, "pass"),
        (Target(at_most=0), 1, "miss"),
        (Target(), 1e9, ""),
    ],
)
def test_a_finding_is_judged_by_its_target(target: Target, value: float, verdict: str) -> None:
    assert Finding(what="x", value=value, target=target).verdict == verdict


def test_a_target_reads_as_it_is_compared() -> None:
    assert [str(Target(at_least=0.45)), str(Target(at_most=4.0)), str(Target())] == [
        ">= 0.45",
        "<= 4",
        "",
    ]
