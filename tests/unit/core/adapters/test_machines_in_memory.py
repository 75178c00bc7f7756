"""The machines themselves: two equal stores never diverge, and a planted bug is found."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, settings

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock
from tests.support.machines.steps import DivergenceError, Party, Step, run_together
from tests.support.machines.strategies import document_runs, turn_runs
from tests.support.mutants import conversations, memory, protocols

SEARCH = settings(
    max_examples=600,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    verbosity=Verbosity.quiet,
    suppress_health_check=list(HealthCheck),
)
BUGS: tuple[tuple[type[InMemoryStore], Any], ...] = (
    (memory.LeavesHistoryInRedaction, document_runs),
    (memory.IgnoresExpectedVersion, document_runs),
    (memory.TrustsTheClock, document_runs),
    (conversations.BlanksProjectionsOfTheTurnOnly, turn_runs),
    (conversations.AfterIsInclusive, turn_runs),
    (conversations.TrustsTheClockInAppends, turn_runs),
    (protocols.RunsAgain, document_runs),
)


def party(store: type[InMemoryStore]) -> Party:
    clock = ControlledClock()
    return Party(store(clock=clock), clock)


@settings(max_examples=40, deadline=None)
@given(document_runs)
def test_equal_stores_answer_alike_over_documents(steps: list[Step]) -> None:
    asyncio.run(run_together(steps, subject=party(InMemoryStore), model=party(InMemoryStore)))


@settings(max_examples=40, deadline=None)
@given(turn_runs)
def test_equal_stores_answer_alike_over_conversations(steps: list[Step]) -> None:
    asyncio.run(run_together(steps, subject=party(InMemoryStore), model=party(InMemoryStore)))


@pytest.mark.parametrize(("bug", "runs"), BUGS, ids=[bug.__name__ for bug, _ in BUGS])
def test_a_planted_bug_is_found(bug: type[InMemoryStore], runs: Any) -> None:
    @SEARCH
    @given(runs)
    def look(steps: list[Step]) -> None:
        asyncio.run(run_together(steps, subject=party(bug), model=party(InMemoryStore)))

    with pytest.raises(DivergenceError):
        look()
