"""Restores into one empty place race each other and its first write: one archive lands, whole."""

from collections import Counter
from typing import Any

from tests.races.conftest import Scaled, Summarise
from tests.support.histories.records import Answered, Attempt, Unknown
from tests.support.histories.restores import (
    check_conversation_restores,
    check_scope_restores,
)
from tests.support.histories.timelines import CLIENT
from tests.support.load.crews import Crew
from tests.support.load.programs import turn_of
from tests.support.load.stands import Stand, judge
from tests.support.load.trials import Request, Trial, count_overlaps, schedule

PATHS = ("a", "b", "c/d")
STAMP = "2030-01-01T00:00:00Z"
LENGTH = 12


def scope_archive(scope: str, name: str) -> Request:
    """Two versions of each path, all said to be made by the act that restores them."""
    common = {"actor": f"{CLIENT}{name}", "created_at": STAMP, "redacted": False}
    versions = [
        {
            "path": path,
            "version": version,
            "content": f"{name} {path} {version}",
            "action": "created" if version == 1 else "modified",
            **common,
        }
        for path in PATHS
        for version in (1, 2)
    ]
    documents = [
        {
            "scope": scope,
            "path": path,
            "version": 2,
            "content": f"{name} {path} 2",
            "updated_at": STAMP,
            **common,
        }
        for path in PATHS
    ]
    redactions = [{"path": "z", "actor": f"{CLIENT}{name}", "created_at": STAMP, "count": 1}]
    archive = {"documents": documents, "versions": versions, "redactions": redactions}
    return "store/restore_scope", {"scope": scope, **archive}


def conversation_archive(conversation: str, name: str) -> Request:
    turns = [
        {
            **turn_of(conversation, f"{name}t{number}"),
            "turn": number,
            "created_at": STAMP,
            "actor": f"{CLIENT}{name}",
        }
        for number in range(1, LENGTH + 1)
    ]
    projections = [
        {"turn": number, "kind": "log", "text": f"{name} {number}"} for number in range(1, LENGTH)
    ]
    archive = {"turns": turns, "projections": projections}
    return "store/restore_conversation", {"conversation_id": conversation, **archive}


def scope_trial(number: int) -> Trial:
    """Every third place is also written to at that moment."""
    unit = f"race:whole{number}"
    name = Trial(unit=unit).name_of
    racing = [scope_archive(unit, name(racer)) for racer in range(3 if number % 3 else 2)]
    if not number % 3:
        racing.append(("memory/write", {"scope": unit, "path": "a", "content": "first"}))
    return Trial(unit=unit, racing=racing, keyed=number % 2 == 0)


def conversation_trial(number: int) -> Trial:
    unit = f"thread{number}"
    name = Trial(unit=unit).name_of
    racing = [conversation_archive(unit, name(racer)) for racer in range(3 if number % 3 else 2)]
    if not number % 3:
        racing.append(("conversation/append_turn", turn_of(unit, name(2))))
    return Trial(unit=unit, racing=racing, keyed=number % 2 == 0)


def winners(attempts: list[Attempt]) -> Counter[str]:
    """How many restores of each place were answered."""
    return Counter(
        str(one.request.get("scope") or one.request.get("conversation_id"))
        for one in attempts
        if "restore" in one.route and isinstance(one.outcome, Answered)
    )


def test_one_of_racing_restores_of_a_scope_lands_whole(
    crew: Crew, stand: Stand, scaled: Scaled, summarise: Summarise
) -> None:
    trials = [scope_trial(number) for number in range(scaled(90))]
    attempts = crew.run(stand.ports, schedule(trials, seed=1))
    states = stand.scopes(trial.unit for trial in trials)
    overlapping, won = count_overlaps(trials, attempts), winners(attempts)
    after = stand.tell([next_write(trial) for trial in trials], name="restoredend")
    summarise(attempts, trials=len(trials), overlapping=overlapping, landed=len(won))
    assert [one for one in attempts if isinstance(one.outcome, Unknown)] == []
    assert judge(attempts, scopes=states) == []
    assert [found for state in states for found in check_scope_restores(attempts, state)] == []
    assert set(won.values()) == {1}
    assert overlapping > len(trials) / 2
    # Numbers go on where the archive, or the first write, ended.
    assert [version_of(one) for one in after] == [
        1 + max(row.version for row in state.versions if row.path == "a") for state in states
    ]


def next_write(trial: Trial) -> Request:
    return "memory/write", {"scope": trial.unit, "path": "a", "content": "next"}


def version_of(attempt: Attempt) -> Any:
    assert isinstance(attempt.outcome, Answered)
    return attempt.outcome.answer["document"]["version"]


def test_one_of_racing_restores_of_a_conversation_lands_whole(
    crew: Crew, stand: Stand, scaled: Scaled, summarise: Summarise
) -> None:
    trials = [conversation_trial(number) for number in range(scaled(90))]
    attempts = crew.run(stand.ports, schedule(trials, seed=2))
    states = stand.conversations(trial.unit for trial in trials)
    overlapping, won = count_overlaps(trials, attempts), winners(attempts)
    summarise(attempts, trials=len(trials), overlapping=overlapping, landed=len(won))
    assert [one for one in attempts if isinstance(one.outcome, Unknown)] == []
    violations = [
        found for state in states for found in check_conversation_restores(attempts, state)
    ]
    assert violations == []
    # An append that came after a restore continues its numbers; judged where no restore landed.
    appended = [state for state in states if not won[state.conversation_id]]
    assert judge(attempts, conversations=appended) == []
    lengths = {len(state.turns) for state in states if won[state.conversation_id]}
    assert lengths <= {LENGTH, LENGTH + 1}
    assert set(won.values()) == {1}
    assert overlapping > len(trials) / 2
