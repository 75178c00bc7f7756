"""The checkers of racing restores and of repeated keys find the faults planted for them."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from commonhold.contract.documents import MemoryRedaction, MemoryVersion, ScopeArchive
from tests.support.histories.conversations import ConversationState
from tests.support.histories.idempotency import check_keys
from tests.support.histories.records import Answered, Attempt, Outcome, Refused, Unknown
from tests.support.histories.restores import check_conversation_restores, check_scope_restores
from tests.support.histories.sketches import CONVERSATION, SCOPE, stamp
from tests.support.histories.timelines import CLIENT

OCCUPIED = Refused(code="memory_conflict", details={"path": None, "reason": "target_occupied"})
PATHS = ("a", "b")


class RestoreSketch:
    """Two archives race for one scope; the first wins, then somebody writes."""

    def __init__(self) -> None:
        self.attempts = [
            restore("x1", (0, 10), Answered(answer={})),
            restore("x2", (5, 12), OCCUPIED),
            write("w1", (20, 30)),
        ]
        self.rows = rows_of("x1")

    @property
    def state(self) -> ScopeArchive:
        return ScopeArchive(
            scope=SCOPE,
            versions=tuple(self.rows),
            redactions=(trail_of("x1"),),
        )


def restore(name: str, span: tuple[int, int], outcome: Outcome) -> Attempt:
    versions = [{"path": path, "version": 1, "actor": f"{CLIENT}{name}"} for path in PATHS]
    return Attempt(
        name=name,
        route="store/restore_scope",
        request={"scope": SCOPE, "versions": versions, "redactions": [{"count": 1}]},
        began=span[0],
        ended=span[1],
        outcome=outcome,
    )


def write(name: str, span: tuple[int, int]) -> Attempt:
    return Attempt(
        name=name,
        route="memory/write",
        request={"scope": SCOPE, "path": "a", "content": "c"},
        began=span[0],
        ended=span[1],
        outcome=Answered(answer={}),
    )


def rows_of(name: str) -> list[MemoryVersion]:
    return [
        MemoryVersion(
            path=path,
            version=1,
            action="created",
            content="",
            actor=f"{CLIENT}{name}",
            created_at=stamp(0),
        )
        for path in PATHS
    ]


def trail_of(name: str) -> MemoryRedaction:
    return MemoryRedaction(path=None, actor=f"{CLIENT}{name}", created_at=stamp(0), count=1)


def restore_half(sketch: RestoreSketch) -> None:
    del sketch.rows[1]


def mix_two_archives(sketch: RestoreSketch) -> None:
    sketch.rows[1] = rows_of("x2")[1]


def let_both_succeed(sketch: RestoreSketch) -> None:
    sketch.attempts[1] = restore("x2", (5, 12), Answered(answer={}))
    sketch.rows += rows_of("x2")


def lose_a_restore(sketch: RestoreSketch) -> None:
    sketch.rows.clear()


def restore_over_a_write(sketch: RestoreSketch) -> None:
    sketch.attempts[2] = write("w1", (-20, -10))


def refuse_an_empty_place(sketch: RestoreSketch) -> None:
    sketch.attempts[1] = restore("x2", (-20, -10), OCCUPIED)


def refuse_for_another_reason(sketch: RestoreSketch) -> None:
    sketch.attempts[1] = restore("x2", (5, 12), Refused(code="value_error"))


@pytest.mark.parametrize(
    ("rule", "plant"),
    [
        ("restore_torn", restore_half),
        ("refused_left_effect", mix_two_archives),
        ("restored_twice", let_both_succeed),
        ("restore_torn", lose_a_restore),
        ("restored_over", restore_over_a_write),
        ("impossible_observation", refuse_an_empty_place),
        ("impossible_observation", refuse_for_another_reason),
    ],
)
def test_a_planted_fault_of_a_restore_is_found(
    rule: str, plant: Callable[[RestoreSketch], None]
) -> None:
    sketch = RestoreSketch()
    assert check_scope_restores(sketch.attempts, sketch.state) == []
    plant(sketch)
    found = check_scope_restores(sketch.attempts, sketch.state)
    assert rule in {violation.rule for violation in found}


def conversation_restore(outcome: Outcome) -> Attempt:
    turns = [
        {"turn": number, "messages": [{"role": "user", "content": f"x1 {number}"}]}
        for number in (1, 2)
    ]
    return Attempt(
        name="x1",
        route="store/restore_conversation",
        request={
            "conversation_id": CONVERSATION,
            "turns": turns,
            "projections": [{"text": "x1 log"}],
        },
        began=0,
        ended=10,
        outcome=outcome,
    )


@pytest.mark.parametrize("kept", [(2, 0), (1, 1), (0, 0)])
def test_a_conversation_restored_in_part_is_found(kept: tuple[int, int]) -> None:
    attempt = conversation_restore(Answered(answer={}))
    turns = [{**turn, "actor": f"{CLIENT}x1"} for turn in attempt.request["turns"]]
    whole = ConversationState(
        conversation_id=CONVERSATION, turns=turns, projections=attempt.request["projections"]
    )
    assert check_conversation_restores([attempt], whole) == []
    torn = ConversationState(
        conversation_id=CONVERSATION,
        turns=turns[: kept[0]],
        projections=attempt.request["projections"][: kept[1]],
    )
    (violation,) = check_conversation_restores([attempt], torn)
    assert violation.rule == "restore_torn"


def keyed(began: int, ended: int, outcome: Outcome) -> Attempt:
    return Attempt(
        name="k1",
        route="memory/write",
        request={"scope": SCOPE, "path": "a", "content": "c"},
        began=began,
        ended=ended,
        outcome=outcome,
        key="k1",
    )


def document(**changes: Any) -> Answered:
    return Answered(answer={"document": {"version": 1, "content": "c", **changes}})


@pytest.mark.parametrize(
    ("rules", "attempts"),
    [
        (set(), [keyed(0, 10, document()), keyed(5, 12, document())]),
        (set(), [keyed(0, 10, Unknown(why="503")), keyed(15, 20, document())]),
        (set(), [keyed(0, 9, document()), keyed(15, 20, document(content="", redacted=True))]),
        ({"answers_differ"}, [keyed(0, 10, document()), keyed(5, 12, document(version=2))]),
        ({"replay_refused"}, [keyed(0, 10, document()), keyed(15, 20, OCCUPIED)]),
    ],
)
def test_repetitions_of_a_key_get_one_answer(rules: set[str], attempts: Sequence[Attempt]) -> None:
    assert {violation.rule for violation in check_keys(attempts)} == rules


def test_a_repeated_key_is_judged_apart_from_another() -> None:
    other = msgspec.structs.replace(keyed(0, 10, document(version=2)), key="k2")
    assert check_keys([keyed(0, 10, document()), other]) == []
