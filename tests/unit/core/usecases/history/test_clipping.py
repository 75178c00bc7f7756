"""Short lines: whole atoms, handles, and the room they may take."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonhold.contract import Message
from commonhold.usecases.history.atoms import atoms, cut_after, cut_before
from commonhold.usecases.history.clipping import digest_line, one_line
from commonhold.usecases.history.links import LONG_ATOM, Links
from tests.support.conversations import agent, call, user

LONG = "https://example.org/" + "p" * 60
OTHER = "https://example.org/" + "q" * 60
texts = st.lists(
    st.sampled_from(["a", "b1", " ", "\n", "/", "(", ")", ".", "x/y", LONG, "word "]), max_size=60
).map("".join)


def links(*words: str) -> Links:
    numbered = Links("chat-1")
    numbered.add_turn([user(" ".join(words))])
    return numbered


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("  one\n\n two\tthree ", 20, "one two three"),
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two thre …"),
        ("one two three", 4, "one …"),
        ("see ops/deploy.sh now", 10, "see …"),
        ("ops/deploy.sh now", 5, "…"),
        ("[7] AGENT: I did\n[8] USER: thanks", 80, "[7] AGENT: I did [8] USER: thanks"),
    ],
)
def test_a_line_is_cut_in_front_of_an_atom(text: str, limit: int, expected: str) -> None:
    assert one_line(text, limit) == expected


def test_a_marker_may_say_more() -> None:
    marker = " … [recall_turn(7)]"
    assert one_line("word " * 200, 9, marker=marker) == "word word … [recall_turn(7)]"


def test_a_numbered_atom_gives_way_to_its_handle_before_the_line_is_measured() -> None:
    line = one_line(f"see {LONG}, then {OTHER}.", 60, links=links(LONG, OTHER))
    assert line == "see [link chat-1:1], then [link chat-1:2]."
    assert one_line(f"see {LONG}", 10, links=links(LONG)) == "see …"


def test_a_digest_keeps_both_ends() -> None:
    text = "a" * 120 + "b" * 60
    assert digest_line(text) == "a" * 100 + " … " + "b" * 40
    assert digest_line("a" * 140) == "a" * 140


def test_a_digest_leaves_out_the_atoms_that_its_cuts_meet() -> None:
    head, tail = "ops/" + "x" * 20, "see/" + "y" * 20
    text = f"{'w ' * 45}{head} {'w ' * 60}{tail} {'v ' * 15}end"
    shown = digest_line(text)
    assert shown.startswith("w w")
    assert head[:5] not in shown
    assert tail[-5:] not in shown
    assert shown.endswith("v end")


def test_numbers_come_by_first_appearance_in_texts_and_arguments() -> None:
    first, second, third = (f"https://example.org/{letter * 40}" for letter in "abc")
    numbered = Links("chat-1")
    numbered.add_turn([agent(first, call("get", options={"z": [second], "a": third}))])
    numbered.add_turn([user(f"{third} {first}")])
    line = numbered.contract(f"{third} {second} {first}")
    assert line == "[link chat-1:3] [link chat-1:2] [link chat-1:1]"


def test_a_system_message_numbers_nothing() -> None:
    numbered = Links("chat-1")
    numbered.add_turn([Message(role="system", content=OTHER), user(LONG)])
    assert numbered.contract(f"{OTHER} {LONG}") == f"{OTHER} [link chat-1:1]"


def test_short_atoms_and_handles_get_no_number() -> None:
    short = "https://example.org/" + "p" * (LONG_ATOM - 21)
    handle = f"[link {'c' * 60}:1]"
    assert links(short, handle).contract(f"{short} {handle}") == f"{short} {handle}"
    assert links(short + "p").contract(short + "p") == "[link chat-1:1]"


@settings(deadline=None)
@given(st.lists(texts, max_size=5), st.lists(texts, max_size=3))
def test_numbers_are_stable_under_append(told: list[str], later: list[str]) -> None:
    before, after = Links("c"), Links("c")
    for text in told:
        before.add_turn([user(text)])
    for text in (*told, *later):
        after.add_turn([user(text)])
    assert [after.contract(text) for text in told] == [before.contract(text) for text in told]


@settings(deadline=None)
@given(texts, st.integers(1, 40))
def test_a_line_keeps_to_its_limit_and_splits_no_atom(text: str, limit: int) -> None:
    whole = " ".join(text.split())
    line = one_line(text, limit)
    assert "\n" not in line
    assert len(line) <= limit + len(" …")
    if len(whole) <= limit:
        assert line == whole
        return
    kept = line.removesuffix("…").rstrip()
    assert whole.startswith(kept)
    assert not any(one.start < len(kept) < one.end for one in atoms(whole))


@settings(deadline=None)
@given(texts)
def test_a_digest_keeps_to_its_limit_and_splits_no_atom(text: str) -> None:
    whole = " ".join(text.split())
    shown = digest_line(text)
    assert len(shown) <= 143
    if len(whole) <= 140:
        assert shown == whole
        return
    head, _, tail = shown.partition("…")
    assert whole.startswith(head.strip())
    assert whole.endswith(tail.strip())
    edges = (len(head.strip()), len(whole) - len(tail.strip()))
    assert not any(one.start < edge < one.end for one in atoms(whole) for edge in edges)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["word", "a/" + "b" * 60, "v1.2", "[link c:1]", '"q/r"']), max_size=400
    )
)
def test_a_digest_is_that_of_the_whole_text(words: list[str]) -> None:
    known = links("a/" + "b" * 60)
    line = known.contract(" ".join(words))
    whole = (
        line
        if len(line) <= 140
        else (
            f"{line[: cut_before(line, 100)]} \N{HORIZONTAL ELLIPSIS} "
            f"{line[cut_after(line, len(line) - 40) :]}".strip()
        )
    )
    assert digest_line(" ".join(words), links=known) == whole
