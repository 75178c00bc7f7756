"""What is searched and when it matches, by the tables of docs/reference/stores.md, section 7."""

import pytest

from commonhold.contract import (
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    TextBlock,
    ToolCall,
    fold,
    matches,
    query_terms,
    turn_text,
)


def test_the_first_worked_example() -> None:
    messages = (
        Message(role="user", content=""),
        Message(
            role="assistant",
            content=(
                TextBlock(text="a"),
                ImageBlock(url="u"),
                TextBlock(text=""),
                TextBlock(text="b"),
            ),
            tool_calls=(
                ToolCall(id="1", name="x"),
                ToolCall(id="2", name="y", arguments={"é": [1, 2.0, None, True, 'q"\n']}),
            ),
        ),
        Message(role="tool", content="r", tool_call_id="2"),
        Message(role="assistant"),
    )
    assert turn_text(messages) == 'a\n\nb\nx {}\ny {"é":[1,2.0,null,true,"q\\"\\n"]}\nr'


def test_the_second_worked_example() -> None:
    call = ToolCall(id="1", name="lookup", arguments={"q": "Straße", "n": [1, 2]})
    messages = (
        Message(role="user", content="find it"),
        Message(role="assistant", tool_calls=(call,)),
    )
    assert turn_text(messages) == 'find it\nlookup {"q":"Straße","n":[1,2]}'


def test_nothing_but_text_and_calls_is_searched() -> None:
    message = Message(
        role="assistant",
        content=(
            ImageBlock(media_type="m", data="d"),
            DocumentBlock(url="u"),
            CompactionBlock(content="c", encrypted_content="e"),
        ),
        reasoning="r",
        tool_call_id="t",
        extra={"x": "y"},
    )
    assert turn_text((message,)) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e22, "1e+22"),
        (-0.0, "-0.0"),
        (1.50, "1.5"),
        (2**64, "18446744073709551616"),
        (1e16, "1e+16"),
    ],
)
def test_numbers_are_searched_in_pythons_spelling(value: float, text: str) -> None:
    call = ToolCall(id="1", name="f", arguments={"n": value})
    assert turn_text((Message(role="assistant", tool_calls=(call,)),)) == f'f {{"n":{text}}}'


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("Alpha  BETA", ("alpha", "beta")),
        (" x\t\n", ("x",)),
        ("a\x1cb\x1fc\N{NO-BREAK SPACE}d", ("a", "b", "c", "d")),
        ("ÉCOLE", ("école",)),
        ("a\x00b", ("a\x00b",)),
    ],
)
def test_a_query_is_folded_and_split(query: str, terms: tuple[str, ...]) -> None:
    assert query_terms(query) == terms


@pytest.mark.parametrize("query", ["", " ", "\n\t", "\x1c\x1f", "\N{NO-BREAK SPACE}"])
def test_a_query_without_a_term_is_refused(query: str) -> None:
    with pytest.raises(ValueError, match=r"^query must contain at least one term$"):
        query_terms(query)


@pytest.mark.parametrize(
    ("text", "query", "hit"),
    [
        ("école", "ÉCOLE", True),
        ("Straße", "straße", True),
        ("ΣΊΣΥΦΟΣ", "σίσυφος", True),
        ("\N{KELVIN SIGN}elvin", "kelvin", True),
        ("école", "ecole", False),
        ("straße", "strasse", False),
        ("100% done_now", "100% done_now", True),
        ("100 percent doneXnow", "100%", False),
        ("doneXnow", "done_now", False),
        (r"a\b", r"\b", True),
        ('{"t":true,"z":null,"n":1.5}', '"t":true,"z":null', True),
        ('{"n":1.5}', "1.50", False),
        ("one two", "two one", True),
        ("one two", "two three", False),
        ("unbelievable", "liev", True),
    ],
)
def test_every_term_must_be_in_the_text(text: str, query: str, hit: bool) -> None:  # noqa: FBT001 - a column of the table
    assert matches(fold(text), query_terms(query)) is hit
