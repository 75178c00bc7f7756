"""Records that check themselves: projections, keys, trails."""

import re
from typing import Any

import msgspec
import pytest

from commonhold.conformance.archives import MOMENT
from commonhold.contract import (
    ConversationProjection,
    ConversationRedaction,
    IdempotencyKey,
    MemoryDocument,
    Page,
)
from commonhold.contract.turns import is_any_in


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"turn": 0}, "turn must be >= 1, got 0"),
        ({"turn": -5, "span": 9, "kind": "foo"}, "turn must be >= 1, got -5"),
        ({"turn": 1, "span": 2}, "span must satisfy 1 <= span <= turn, got span=2 for turn=1"),
        ({"turn": 3, "span": 0}, "span must satisfy 1 <= span <= turn, got span=0 for turn=3"),
        (
            {"turn": 1, "span": 2, "kind": "foo"},
            "span must satisfy 1 <= span <= turn, got span=2 for turn=1",
        ),
        ({"turn": 1, "kind": "foo"}, "kind must be one of ['digest', 'epoch', 'log'], got 'foo'"),
    ],
)
def test_a_projection_is_refused_by_the_first_rule_it_breaks(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        ConversationProjection(**{"kind": "log", "text": "", **fields})


@pytest.mark.parametrize(
    ("numbers", "covered", "is_any"),
    [
        ([], range(1, 5), False),
        ([4], range(1, 5), True),
        ([5], range(1, 5), False),
        ([1, 9], range(2, 9), False),
        ([1, 8], range(2, 9), True),
        ([1], range(2, 10**15), False),
        ([1, 10**14], range(2, 10**15), True),
    ],
)
def test_a_turn_is_looked_for_in_what_an_entry_covers_without_walking_it(
    numbers: list[int], covered: range, *, is_any: bool
) -> None:
    assert is_any_in(numbers, covered) is is_any


def test_a_projection_covers_one_turn_by_default() -> None:
    assert ConversationProjection(turn=4, kind="log", text="").span == 1


def test_a_trail_counts_its_turns() -> None:
    act = ConversationRedaction(conversation_id="c", turns=(2, 5), actor=None, created_at=MOMENT)
    assert act.count == 2


@pytest.mark.parametrize("value", ["!", "~", "a" * 255, "a/b?c=d"])
def test_a_key_of_visible_ascii_is_taken(value: str) -> None:
    assert IdempotencyKey("c", value).value == value


@pytest.mark.parametrize("value", ["", " ", "a b", "a\n", "\x7f", "\u00e9", "a" * 256, "\x00"])
def test_another_key_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="1 to 255 visible ASCII characters"):
        IdempotencyKey("c", value)


def test_records_cannot_be_changed() -> None:
    document = MemoryDocument(
        scope="u:a", path="a", content="", version=1, created_at=MOMENT, updated_at=MOMENT
    )
    records: tuple[msgspec.Struct, ...] = (document, Page[str](), IdempotencyKey("c", "k"))
    for record in records:
        with pytest.raises(AttributeError):
            setattr(record, record.__struct_fields__[0], "x")
