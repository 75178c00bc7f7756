"""Several processes and two replicas contend for documents; a checker reads the history."""

import pytest

from tests.races.conftest import Scaled, Summarise
from tests.support.histories.records import Attempt, Unknown
from tests.support.load.crews import Crew, Task
from tests.support.load.stands import Stand, judge

CLIENTS = 8


def undecided(attempts: list[Attempt]) -> list[Attempt]:
    """Without faults every request has a known outcome, whatever the contention."""
    return [attempt for attempt in attempts if isinstance(attempt.outcome, Unknown)]


def test_counters_lose_no_increment(
    crew: Crew, stand: Stand, scaled: Scaled, summarise: Summarise
) -> None:
    scopes = [f"race:counter{number}" for number in range(3)]
    increments = scaled(12)
    zeros = [("memory/write", {"scope": scope, "path": "n", "content": "0"}) for scope in scopes]
    attempts = stand.tell(zeros, name="zero") + crew.run(
        stand.ports,
        [
            Task(
                name=f"{scope[5:]}c{client}",
                program="count_up",
                arguments={"scope": scope, "path": "n", "increments": increments},
            )
            for scope in scopes
            for client in range(CLIENTS)
        ],
    )
    states = stand.scopes(scopes)
    summarise(attempts, counters=len(scopes), clients=CLIENTS, increments=increments * CLIENTS)
    assert undecided(attempts) == []
    # The content of a counter is what it counted, not the secret of its writer.
    assert {state.documents[0].content for state in states} == {str(increments * CLIENTS)}
    assert judge(attempts, scopes=states) == []


def test_blind_writers_of_one_path_all_succeed_in_order(
    crew: Crew, stand: Stand, scaled: Scaled, summarise: Summarise
) -> None:
    arguments = {"scope": "race:blind", "path": "n", "count": scaled(50)}
    attempts = crew.run(
        stand.ports,
        [
            Task(name=f"blind{client}", program="write_blindly", arguments=arguments)
            for client in range(2 * CLIENTS)
        ],
    )
    states = stand.scopes(["race:blind"])
    summarise(attempts, clients=2 * CLIENTS, versions=len(states[0].versions))
    assert undecided(attempts) == []
    assert len(states[0].versions) == 2 * CLIENTS * scaled(50)
    assert judge(attempts, scopes=states) == []


@pytest.mark.parametrize("redacts", [False, True], ids=["without_erasures", "with_erasures"])
def test_storms_over_few_paths_leave_a_legal_ledger(
    crew: Crew, stand: Stand, scaled: Scaled, summarise: Summarise, *, redacts: bool
) -> None:
    scopes = [f"race:storm{number}{'r' if redacts else ''}" for number in range(scaled(4))]
    attempts = crew.run(
        stand.ports,
        [
            Task(
                name=f"{scope[5:]}c{client}",
                program="storm",
                arguments={
                    "scope": scope,
                    "paths": ["a", "a/b", "c"],
                    "seed": hash((number, client, redacts)),
                    "count": 60,
                    "redacts": redacts,
                },
            )
            for number, scope in enumerate(scopes)
            for client in range(CLIENTS)
        ],
    )
    states = stand.scopes(scopes)
    rows = sum(len(state.versions) for state in states)
    summarise(attempts, scopes=len(scopes), clients=CLIENTS, rows=rows)
    assert undecided(attempts) == []
    assert rows > 0.2 * len(attempts)
    assert judge(attempts, scopes=states) == []
