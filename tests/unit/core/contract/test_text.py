"""What no store can hold is found wherever it is, and nothing else is refused."""

from typing import Any

import pytest

from commonhold.contract.messages import Message, ToolCall
from commonhold.contract.text import require_storable_tree

NUL = "must not contain U\\+0000"
SURROGATE = "must not contain a lone surrogate"


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("a\x00b", NUL),
        ("a\ud800b", SURROGATE),
        ({"key\x00": 1}, NUL),
        ({"key\ud800": 1}, SURROGATE),
        ([[{"deep": ("x", "\x00")}]], NUL),
        (Message(role="user", content="\x00"), NUL),
        (
            (
                Message(
                    role="assistant",
                    tool_calls=(ToolCall(id="c", name="n", arguments={"q": ["\udfff"]}),),
                ),
            ),
            SURROGATE,
        ),
        # Spelled out beside the character itself.
        (["\\u0000", "\x00"], NUL),
        # What the JSON of the value cannot show.
        ({"big": 10**400, "text": "\x00"}, NUL),
    ],
)
def test_text_that_cannot_be_stored_is_refused_by_the_parameters_name(
    value: Any, fault: str
) -> None:
    with pytest.raises(ValueError, match=f"parameter 'messages' {fault}"):
        require_storable_tree(value, name="messages")


@pytest.mark.parametrize(
    "value",
    [
        "the escape \\u0000 as text",
        {"\\u0000": "\\ud800"},
        "\U0001f600 and é",
        Message(role="user", content="\\\\u0000"),
        [1.5, None, True, 10**400],
    ],
)
def test_text_that_only_looks_like_it_is_kept(value: Any) -> None:
    require_storable_tree(value, name="messages")


def test_the_depth_of_a_body_is_no_limit() -> None:
    value: Any = "\x00"
    for _ in range(5_000):
        value = [value]
    with pytest.raises(ValueError, match=NUL):
        require_storable_tree(value, name="messages")
