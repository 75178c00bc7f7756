"""The checker of tool calls finds every fault it is there for, each planted in a clean history."""

import json
from typing import Any

import pytest

from tests.support.histories.records import Answered, Attempt, Outcome, Refused, Unknown
from tests.support.histories.tools import INSERT, VIEW, check_lines
from tests.support.load.tools import read_outcome
from tests.support.raw_http import Answer
from tests.support.service_checker import Act

DONE = Answered(answer={"text": "Edited /user/a (v2)"})
LOST = Unknown(why="ConnectionResetError")


def attempt(name: str, outcome: Outcome, *, route: str = INSERT, began: int = 0) -> Attempt:
    return Attempt(
        name=name, route=route, request={}, began=began, ended=began + 1, outcome=outcome, key=name
    )


CLEAN = [
    attempt("n1", DONE, began=0),
    attempt("n2", LOST, began=2),
    attempt("n2", DONE, began=4),
    attempt("n3", Answered(answer={"text": "1: n2\n2: n1"}), route=VIEW, began=6),
    attempt("n4", LOST, began=8),
]


@pytest.mark.parametrize("content", ["n2\nn1\n", "n4\nn2\nn1\n"])
def test_a_call_of_unknown_outcome_may_have_happened_or_not(content: str) -> None:
    assert check_lines(CLEAN, content) == []


@pytest.mark.parametrize(
    ("content", "more", "rule"),
    [
        ("n1\n", [], "acknowledged_missing"),
        ("n2\nn2\nn1\n", [], "applied_twice"),
        ("n4\nn4\nn2\nn1\n", [], "applied_twice"),
        ("n2\nn1\nn9\n", [], "line_of_nobody"),
        ("n2\nn1\n", [attempt("n5", Refused(code="no"), began=10)], "call_refused"),
        (
            "n2\nn1\n",
            [attempt("n5", Answered(answer={"text": "1: n1"}), route=VIEW, began=10)],
            "stale_view",
        ),
    ],
)
def test_a_planted_fault_is_found(content: str, more: list[Attempt], rule: str) -> None:
    assert [found.rule for found in check_lines([*CLEAN, *more], content)] == [rule]


@pytest.mark.parametrize(
    ("outcomes", "failed"),
    [((DONE,), False), ((LOST, DONE), False), ((LOST, LOST, DONE), True), ((LOST,), True)],
)
def test_a_call_has_failed_when_one_repetition_did_not_help(
    outcomes: tuple[Outcome, ...], *, failed: bool
) -> None:
    assert Act(attempts=[attempt("n1", outcome) for outcome in outcomes]).failed is failed


def reply(status: int, result: dict[str, Any] | None = None) -> Answer:
    body = b"event: message\ndata: " + json.dumps({"id": 1, "result": result}).encode() + b"\n\n"
    return Answer(status, "", (), body)


def test_only_a_failure_of_the_service_leaves_an_outcome_unknown() -> None:
    away = {"content": [{"text": "Tool 'memory' failed: internal error"}], "isError": True}
    told = {"content": [{"text": "No document at /user/a"}], "isError": True}
    done = {"content": [{"text": "Edited /user/a (v2)"}], "isError": False}
    assert read_outcome(reply(503)) == Unknown(why="status 503")
    assert read_outcome(reply(200, away)) == Unknown(why="Tool 'memory' failed: internal error")
    assert read_outcome(reply(200, told)) == Refused(code="No document at /user/a")
    assert read_outcome(reply(200, done)) == DONE
