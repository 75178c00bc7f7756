"""The checker of conversations finds every fault it is there for, each planted in a clean one."""

from collections.abc import Callable

import pytest

from tests.support.histories.conversations import check_conversation
from tests.support.histories.erasures import secret_of
from tests.support.histories.records import Answered, Refused
from tests.support.histories.sketches import ConversationSketch, sketch_conversation, stamp
from tests.support.histories.timelines import CLIENT

Plant = Callable[[ConversationSketch], None]


def duplicate_a_turn(sketch: ConversationSketch) -> None:
    sketch.turns.append({**sketch.turns[3], "turn": 5})


def lose_a_turn(sketch: ConversationSketch) -> None:
    del sketch.turns[3]


def leave_a_gap(sketch: ConversationSketch) -> None:
    sketch.turns[3]["turn"] = 5


def give_a_number_twice(sketch: ConversationSketch) -> None:
    sketch.turns[3]["turn"] = 3


def mix_up_messages(sketch: ConversationSketch) -> None:
    sketch.turns[2]["messages"] = sketch.turns[3]["messages"]


def answer_with_the_turn_of_another(sketch: ConversationSketch) -> None:
    answer = {"turn": {**sketch.turns[2], "turn": 4}}
    sketch.spoil_attempt("t3", outcome=Answered(answer=answer))


def answer_with_another_stamp(sketch: ConversationSketch) -> None:
    answer = {"turn": {**sketch.turns[2], "created_at": stamp(61).isoformat()}}
    sketch.spoil_attempt("t3", outcome=Answered(answer=answer))


def swap_two_acknowledged_turns(sketch: ConversationSketch) -> None:
    sketch.spoil_attempt("t4", began=52, ended=58)


def run_a_stamp_backwards(sketch: ConversationSketch) -> None:
    sketch.turns[3]["created_at"] = stamp(1).isoformat()


def keep_what_was_refused(sketch: ConversationSketch) -> None:
    sketch.spoil_attempt("t3", outcome=Refused(code="value_error"))


def write_a_turn_of_nobody(sketch: ConversationSketch) -> None:
    sketch.turns[2]["actor"] = f"{CLIENT}stranger"


def count_a_turn_too_early(sketch: ConversationSketch) -> None:
    sketch.spoil_attempt("l1", outcome=Answered(answer={"turn": 3}))


def count_a_turn_too_late(sketch: ConversationSketch) -> None:
    sketch.spoil_attempt("l1", began=77, ended=79)


def read_a_hole(sketch: ConversationSketch) -> None:
    seen = [turn for turn in sketch.turns if turn["turn"] != 3]
    sketch.spoil_attempt("r1", outcome=Answered(answer={"turns": seen, "next_after": None}))


def leave_an_erased_turn_whole(sketch: ConversationSketch) -> None:
    messages = [{"role": "user", "content": secret_of("t1")}]
    sketch.turns[0] |= {"messages": messages, "redacted": False}


def pass_over_an_acknowledged_turn(sketch: ConversationSketch) -> None:
    leave_an_erased_turn_whole(sketch)
    sketch.trail[0]["turns"] = [2]
    sketch.spoil_attempt("e1", outcome=Answered(answer={"count": 1}))


def erase_a_later_turn(sketch: ConversationSketch) -> None:
    sketch.blank_turn(4)


def forget_the_trail(sketch: ConversationSketch) -> None:
    sketch.trail.clear()


def record_an_erasure_twice(sketch: ConversationSketch) -> None:
    sketch.trail.append(dict(sketch.trail[0]))


def leave_a_projection_whole(sketch: ConversationSketch) -> None:
    for index in (0, 1):
        sketch.projections[index]["text"] = f"{secret_of('p1')} {index}"


def leave_a_racing_projection_whole(sketch: ConversationSketch) -> None:
    """It was written while the erasure ran, before a turn that the erasure did match."""
    leave_a_projection_whole(sketch)
    sketch.spoil_attempt("p1", began=41, ended=43)
    sketch.spoil_attempt("t2", began=44, ended=46)


def leave_an_older_projection_whole(sketch: ConversationSketch) -> None:
    """The rows stand in the order they came in, and a younger one is blank."""
    sketch.spoil_attempt("p1", began=41, ended=49)
    sketch.projections[0]["text"] = f"{secret_of('p1')} 0"


def tear_a_batch(sketch: ConversationSketch) -> None:
    sketch.projections[3]["text"] = ""


def lose_a_batch(sketch: ConversationSketch) -> None:
    del sketch.projections[2:]


def land_a_batch_twice(sketch: ConversationSketch) -> None:
    sketch.projections += [dict(entry) for entry in sketch.projections[2:]]


def blank_a_later_batch(sketch: ConversationSketch) -> None:
    for entry in sketch.projections:
        entry["text"] = ""


def show_an_erased_turn(sketch: ConversationSketch) -> None:
    messages = [{"role": "user", "content": secret_of("t1")}]
    seen = [{**sketch.turns[0], "messages": messages}, *sketch.turns[1:]]
    sketch.spoil_attempt("r1", outcome=Answered(answer={"turns": seen, "next_after": None}))


PLANTS: dict[str, list[Plant]] = {
    "applied_twice": [duplicate_a_turn, record_an_erasure_twice, land_a_batch_twice],
    "acknowledged_missing": [lose_a_turn, lose_a_batch, blank_a_later_batch],
    "number_gap": [leave_a_gap],
    "number_reused": [give_a_number_twice],
    "content_altered": [mix_up_messages],
    "answer_disagrees": [answer_with_the_turn_of_another, answer_with_another_stamp],
    "order_inverted": [swap_two_acknowledged_turns],
    "stamp_backwards": [run_a_stamp_backwards],
    "refused_left_effect": [keep_what_was_refused],
    "row_of_nobody": [write_a_turn_of_nobody],
    "impossible_observation": [count_a_turn_too_early, count_a_turn_too_late, read_a_hole],
    "erasure_missed": [
        leave_an_erased_turn_whole,
        pass_over_an_acknowledged_turn,
        leave_a_projection_whole,
        leave_a_racing_projection_whole,
        leave_an_older_projection_whole,
    ],
    "erasure_overreached": [erase_a_later_turn],
    "erasure_unrecorded": [forget_the_trail],
    "batch_torn": [tear_a_batch],
    "content_shown": [show_an_erased_turn],
}


def test_a_clean_history_passes() -> None:
    sketch = sketch_conversation()
    assert check_conversation(sketch.history, sketch.state) == []


@pytest.mark.parametrize(
    ("rule", "plant"),
    [(rule, plant) for rule, plants in PLANTS.items() for plant in plants],
    ids=[plant.__name__ for plants in PLANTS.values() for plant in plants],
)
def test_a_planted_fault_is_found(rule: str, plant: Plant) -> None:
    sketch = sketch_conversation()
    plant(sketch)
    found = check_conversation(sketch.history, sketch.state)
    assert rule in {violation.rule for violation in found}
