"""The checker of scopes finds every fault it is there for, each planted in a clean history."""

from collections.abc import Callable

import msgspec
import pytest

from tests.support.histories.documents import check_scope
from tests.support.histories.erasures import secret_of
from tests.support.histories.records import Answered, Attempt, Refused, Unknown
from tests.support.histories.sketches import (
    SCOPE,
    ScopeSketch,
    mismatch,
    sketch_scope,
    stamp,
    written,
)
from tests.support.histories.timelines import CLIENT

Plant = Callable[[ScopeSketch], None]


def lose_an_update(sketch: ScopeSketch) -> None:
    """Two writers expected version 1, and both were told that they had it."""
    content = secret_of("c1")
    sketch.spoil_attempt(
        "c1",
        outcome=written("a", 3, "c1", content),
        request={**sketch.attempts["c1"].request, "content": content},
    )
    sketch.spoil_row(("a", 3), action="modified", actor=f"{CLIENT}c1", content=content)
    sketch.row(("a", 4), "deleted", "d1", content)
    sketch.spoil_attempt("w3", outcome=written("a", 5, "w3", secret_of("w3")))
    sketch.row(("a", 5), "created", "w3", secret_of("w3"))
    sketch.row(("a", 6), "deleted", "m1", secret_of("w3"))


def lose_an_acknowledged_write(sketch: ScopeSketch) -> None:
    sketch.attempt(*("w9", "write", (41, 49), written("a", 2, "w9", "x")), path="a", content="x")


def apply_a_write_twice(sketch: ScopeSketch) -> None:
    sketch.row(("b", 4), "modified", "w4", secret_of("w4"))
    sketch.spoil_live("b", version=4)


def leave_a_gap(sketch: ScopeSketch) -> None:
    row = sketch.rows.pop(("b", 3))
    sketch.rows["b", 4] = msgspec.structs.replace(row, version=4)
    sketch.spoil_live("b", version=4)


def reuse_a_number_after_a_delete(sketch: ScopeSketch) -> None:
    sketch.spoil_row(("a", 4), version=1)


def tell_a_stale_conflict_version(sketch: ScopeSketch) -> None:
    """The loser began after version 2 had been answered, yet is told that 1 is the newest."""
    sketch.spoil_attempt("c1", began=36, ended=39, outcome=mismatch("a", 7, 1))


def tell_a_conflict_version_that_was_expected(sketch: ScopeSketch) -> None:
    request = {**sketch.attempts["c1"].request, "expected_version": 2}
    sketch.spoil_attempt("c1", request=request)


def tell_a_conflict_version_that_was_deleted(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("c1", began=62, ended=79, outcome=mismatch("a", 1, 3))


def tell_absence_of_a_live_document(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("c1", began=36, ended=39, outcome=mismatch("a", 1, None))


def read_the_past(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("r1", outcome=written("a", 1, "w1", secret_of("w1")))


def read_the_future(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("r1", began=12, ended=18)


def read_a_deleted_document(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("r2", outcome=written("a", 2, "w2", secret_of("w2")))


def read_a_live_document_as_absent(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("r2", began=36, ended=58)


def read_another_content(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("r1", outcome=written("a", 2, "w2", "something else"))


def read_backwards(sketch: ScopeSketch) -> None:
    """Each read alone could be right, but the second began when the first had ended."""
    sketch.spoil_attempt("w2", ended=58)
    sketch.spoil_attempt("c1", ended=58)
    first = written("a", 1, "w1", secret_of("w1"))
    sketch.attempt("r3", "read", (52, 56), first, path="a")


def list_a_deleted_document(sketch: ScopeSketch) -> None:
    entries = [{"path": "a", "version": 2, "redacted": False}]
    answer = Answered(answer={"entries": entries, "next_cursor": None})
    sketch.attempt("l1", "list_documents", (75, 78), answer)


def keep_what_was_refused(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("u1", outcome=mismatch("b", 9, 1))


def refuse_without_a_reason(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("c1", outcome=Refused(code="value_error"))


def delete_twice(sketch: ScopeSketch) -> None:
    sketch.spoil_row(("a", 4), action="deleted", content=secret_of("w2"))


def call_an_update_a_creation(sketch: ScopeSketch) -> None:
    sketch.spoil_row(("a", 2), action="created")


def keep_the_content_of_another_in_a_deletion(sketch: ScopeSketch) -> None:
    sketch.spoil_row(("a", 3), content=secret_of("w1"))


def store_another_content(sketch: ScopeSketch) -> None:
    sketch.spoil_row(("a", 1), content="altered")


def write_a_row_of_nobody(sketch: ScopeSketch) -> None:
    sketch.spoil_row(("a", 1), actor=f"{CLIENT}stranger")


def answer_with_the_version_of_another(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("w1", outcome=written("a", 2, "w1", secret_of("w1")))


def run_a_stamp_backwards(sketch: ScopeSketch) -> None:
    sketch.spoil_row(("a", 2), created_at=stamp(-5))


def swap_two_acknowledged_writes(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("w1", began=40, ended=45)
    sketch.spoil_attempt("r1", began=46)


def tear_a_rename(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("m1", outcome=Unknown(why="503"))
    del sketch.rows["a", 5]
    live = {"path": "a", "version": 4, "content": secret_of("w3"), "actor": f"{CLIENT}w3"}
    moments = {"created_at": stamp(80), "updated_at": stamp(80)}
    sketch.live["a"] = msgspec.structs.replace(sketch.live["b"], **live, **moments)


def take_a_rename_apart(sketch: ScopeSketch) -> None:
    """On `a` the rename comes before a write that had ended when the acts before it on `b` began.

    Each path alone is in order.
    """
    sketch.spoil_attempt("m1", ended=119, outcome=written("b", 3, "m1", secret_of("w3")))
    sketch.attempt("w5", "write", (101, 103), written("a", 6, "w5", "x"), path="a", content="x")
    sketch.attempt("w6", "write", (105, 107), written("b", 1, "w6", "y"), path="b", content="y")
    sketch.attempt("d6", "delete", (109, 111), Answered(answer={"deleted": True}), path="b")
    sketch.row(("a", 6), "created", "w5", "x")
    moved = [sketch.rows.pop(("b", number)) for number in (1, 2, 3)]
    for row in moved:
        place = ("b", row.version + 2)
        sketch.rows[place] = msgspec.structs.replace(row, version=place[1])
    sketch.row(("b", 1), "created", "w6", "y")
    sketch.row(("b", 2), "deleted", "d6", "y")


def stamp_a_rename_twice(sketch: ScopeSketch) -> None:
    sketch.spoil_row(("a", 5), created_at=stamp(101))


def forget_the_head(sketch: ScopeSketch) -> None:
    sketch.spoil_live("b", version=2, content="", redacted=True)


def leave_a_deleted_document_live(sketch: ScopeSketch) -> None:
    sketch.live["a"] = msgspec.structs.replace(sketch.live["b"], path="a")


def keep_the_birthday_of_an_earlier_life(sketch: ScopeSketch) -> None:
    sketch.spoil_live("b", created_at=stamp(0))


def leave_content_in_history(sketch: ScopeSketch) -> None:
    """The row of a write that raced the erasure: older than a blank one, and whole."""
    sketch.spoil_attempt("m1", ended=145)
    sketch.spoil_row(("b", 1), content=secret_of("w3"), redacted=False)


def leave_the_newest_row_whole(sketch: ScopeSketch) -> None:
    sketch.spoil_attempt("u1", outcome=written("b", 2, "u1", secret_of("u1")))
    sketch.spoil_row(("b", 2), content=secret_of("u1"), redacted=False)


def leave_a_blank_row_unmarked(sketch: ScopeSketch) -> None:
    sketch.spoil_row(("b", 1), redacted=False)


def mark_a_row_and_keep_its_content(sketch: ScopeSketch) -> None:
    sketch.spoil_row(("b", 1), content=secret_of("w3"))


def erase_what_came_later(sketch: ScopeSketch) -> None:
    sketch.spoil_row(("b", 3), content="", redacted=True)
    sketch.spoil_live("b", content="", redacted=True)


def show_erased_content(sketch: ScopeSketch) -> None:
    """The erased write was answered, and is shown by a read that began after the erasure."""
    sketch.spoil_attempt("u1", outcome=written("b", 2, "u1", secret_of("u1")))
    sketch.spoil_attempt("e1", request={**sketch.attempts["e1"].request, "path": None})
    seen = written("b", 2, "u1", secret_of("u1"))
    sketch.attempt("r4", "read", (152, 158), seen, path="b")


def forget_the_trail(sketch: ScopeSketch) -> None:
    sketch.trail.clear()


def record_an_erasure_twice(sketch: ScopeSketch) -> None:
    sketch.trail.append(sketch.trail[0])


PLANTS: dict[str, list[Plant]] = {
    "lost_update": [lose_an_update],
    "acknowledged_missing": [lose_an_acknowledged_write],
    "applied_twice": [apply_a_write_twice, record_an_erasure_twice],
    "number_gap": [leave_a_gap],
    "number_reused": [reuse_a_number_after_a_delete],
    "impossible_observation": [
        tell_a_stale_conflict_version,
        tell_a_conflict_version_that_was_expected,
        tell_a_conflict_version_that_was_deleted,
        tell_absence_of_a_live_document,
        read_the_past,
        read_the_future,
        read_a_deleted_document,
        read_a_live_document_as_absent,
        read_another_content,
        read_backwards,
        list_a_deleted_document,
        refuse_without_a_reason,
    ],
    "refused_left_effect": [keep_what_was_refused],
    "illegal_action": [delete_twice, call_an_update_a_creation],
    "content_altered": [
        keep_the_content_of_another_in_a_deletion,
        store_another_content,
        leave_a_blank_row_unmarked,
        mark_a_row_and_keep_its_content,
    ],
    "row_of_nobody": [write_a_row_of_nobody],
    "answer_disagrees": [answer_with_the_version_of_another],
    "stamp_backwards": [run_a_stamp_backwards],
    "order_inverted": [swap_two_acknowledged_writes],
    "not_serializable": [take_a_rename_apart],
    "rename_torn": [tear_a_rename, stamp_a_rename_twice],
    "head_disagrees": [
        forget_the_head,
        leave_a_deleted_document_live,
        keep_the_birthday_of_an_earlier_life,
    ],
    "erasure_missed": [leave_content_in_history, leave_the_newest_row_whole],
    "erasure_overreached": [erase_what_came_later],
    "content_shown": [show_erased_content],
    "erasure_unrecorded": [forget_the_trail],
}


def test_a_clean_history_passes() -> None:
    sketch = sketch_scope()
    assert check_scope(sketch.history, sketch.state) == []


@pytest.mark.parametrize(("key", "rules"), [("k", set()), (None, {"impossible_observation"})])
def test_an_answer_under_a_key_may_tell_what_an_earlier_attempt_found(
    key: str | None, rules: set[str]
) -> None:
    """The deletion found nothing before the first write, and is answered after the second."""
    sketch = sketch_scope()
    first = Attempt(
        name="d0",
        route="memory/delete",
        request={"scope": SCOPE, "path": "a"},
        began=-20,
        ended=-10,
        outcome=Unknown(why="503"),
        key=key,
    )
    nothing = Answered(answer={"deleted": False})
    second = msgspec.structs.replace(first, began=41, ended=49, outcome=nothing)
    found = check_scope([*sketch.history, first, second], sketch.state)
    assert {violation.rule for violation in found} == rules


@pytest.mark.parametrize(
    ("rule", "plant"),
    [(rule, plant) for rule, plants in PLANTS.items() for plant in plants],
    ids=[plant.__name__ for plants in PLANTS.values() for plant in plants],
)
def test_a_planted_fault_is_found(rule: str, plant: Plant) -> None:
    sketch = sketch_scope()
    plant(sketch)
    assert rule in {violation.rule for violation in check_scope(sketch.history, sketch.state)}
