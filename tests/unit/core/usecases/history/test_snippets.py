"""Snippets: the best line, a window around the match, and whole atoms."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from commonhold.contract.search import fold
from commonhold.usecases.history.snippets import snippet

NUMBERED = " ".join(f"word{number:02}" for number in range(60))
SHORT_ATOM = "a/" + "b" * 78
LONG_ATOM = "a/" + "b" * 79


def test_the_vector_of_the_page() -> None:
    shown = snippet(NUMBERED, ["word30"])
    assert shown.startswith("… word24 ")
    assert shown.endswith(" word47 …")
    assert len(shown) == 171


def test_a_short_line_is_shown_whole_in_its_own_case() -> None:
    assert snippet("Draft the  deploy\tannouncement", ["deploy"]) == "Draft the deploy announcement"


def test_the_line_with_most_distinct_terms_wins_and_of_equals_the_first() -> None:
    text = "deploy deploy\nThe Script\nscript of deploy one\nscript of deploy two"
    assert snippet(text, ["script", "deploy"]) == "script of deploy one"
    assert snippet("one b\ntwo b", ["b", "elsewhere"]) == "one b"


def test_the_window_starts_at_the_edges_of_the_line() -> None:
    text = "w " * 100
    assert snippet(f"needle {text}", ["needle"]).startswith("needle w")
    assert snippet(f"{text}needle", ["needle"]).endswith("w needle")


def test_the_earliest_match_of_any_term_is_shown() -> None:
    text = f"{'w ' * 100}first {'w ' * 100}second"
    assert "first" in snippet(text, ["second", "first"])


def test_a_short_atom_at_an_edge_is_whole_and_a_long_one_is_out() -> None:
    start = "w " * 30
    text = f"{start}{{}} needle {'w ' * 200}"
    assert SHORT_ATOM in snippet(text.format(SHORT_ATOM), ["needle"])
    shown = snippet(text.format(LONG_ATOM), ["needle"])
    assert shown.startswith("… needle w")


def test_a_letter_that_folds_to_two_moves_no_window() -> None:
    text = "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}" * 150 + " needle " + "w " * 200
    assert "needle" in snippet(text, ["needle"])


@settings(deadline=None)
@given(st.text(alphabet="ab1/. (\n)", max_size=600), st.sampled_from(["a", "b1", "/", "("]))
def test_a_snippet_is_one_short_line_of_the_text(text: str, term: str) -> None:
    shown = snippet(text, [term])
    assert "\n" not in shown
    assert len(shown) <= 160 + 2 * 80 + len("…  …")
    middle = shown.removeprefix("…").removesuffix("…").strip()
    assert middle in " ".join(text.split()) or any(
        middle in " ".join(line.split()) for line in text.split("\n")
    )


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "ab", "\u0130", " ", "\n", "zz", "A"]), max_size=40),
    st.lists(st.sampled_from(["a", "b", "ab", "zz", "i"]), min_size=1, max_size=3),
)
def test_the_line_is_the_first_of_those_with_the_most_terms(
    pieces: list[str], terms: list[str]
) -> None:
    lines = "".join(pieces).split("\n")
    most = max(sum(term in fold(line) for term in set(terms)) for line in lines)
    best = next(line for line in lines if sum(term in fold(line) for term in set(terms)) == most)
    assert snippet("\n".join(lines), terms) == " ".join(best.split())


def test_lines_without_a_term_are_not_looked_at_one_by_one() -> None:
    text = "x\n" * 2_000_000 + "the needle\n" + "y\n" * 2_000_000
    started = time.process_time()
    for _ in range(20):
        assert snippet(text, ["needle", "elsewhere"]) == "the needle"
    # A look at each line takes two seconds.
    assert time.process_time() - started < 10
