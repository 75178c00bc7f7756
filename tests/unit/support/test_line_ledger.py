"""The ledger of lines finds what it is for: an edit that was lost, and one made twice."""

from datetime import UTC, datetime

import pytest

from commonhold.contract.documents import MemoryDocument, MemoryVersion, ScopeArchive
from tests.support.cluster.tools import LineLedger
from tests.support.histories.records import Answered, Outcome, Refused, Unknown

THEN = datetime(2026, 1, 1, tzinfo=UTC)
DONE = Answered(answer={})
LOST = Unknown(why="status 503")


def found(content: str, versions: int, **asked: Outcome) -> list[str]:
    ledger = LineLedger()
    for line, outcome in asked.items():
        ledger.note("d", line, outcome=outcome)
    document = MemoryDocument(
        scope="s", path="d", content=content, version=versions, created_at=THEN, updated_at=THEN
    )
    rows = [
        MemoryVersion(path="d", version=number + 1, action="modified", content="", created_at=THEN)
        for number in range(versions)
    ]
    scope = ScopeArchive(scope="s", documents=(document,), versions=tuple(rows), redactions=())
    return [violation.rule for violation in ledger.violations(scope)]


def test_lines_that_are_in_once_break_nothing() -> None:
    assert found("b\na", 2, a=DONE, b=DONE) == []


def test_a_line_of_unknown_outcome_may_be_in_or_not() -> None:
    assert found("b\na", 2, a=DONE, b=LOST) == []
    assert found("a", 1, a=DONE, b=LOST) == []


@pytest.mark.parametrize(
    ("content", "versions", "rule"),
    [
        ("a", 1, "acknowledged_missing"),
        ("b\nb\na", 3, "applied_twice"),
        ("b\na", 3, "applied_twice"),
        ("c\nb\na", 3, "row_of_nobody"),
    ],
)
def test_what_cannot_be_is_named(content: str, versions: int, rule: str) -> None:
    assert found(content, versions, a=DONE, b=DONE) == [rule]


def test_a_refusal_is_one_too_many() -> None:
    assert found("a", 1, a=DONE, b=Refused(code="no such document")) == ["refused"]
