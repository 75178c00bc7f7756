"""Atoms: what they are, that cuts spare them, and that hostile text costs no more."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonhold.usecases.history.atoms import atom_across, atoms, cut_after, cut_before
from tests.support.costs import cpu_seconds

SIZE = 8_000


def found(text: str) -> list[str]:
    return [text[atom.start : atom.end] for atom in atoms(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://x.io/a?b=1#c, then", ["https://x.io/a?b=1#c"]),
        ("at https://x.io.", ["https://x.io"]),
        ("(https://x.io/a)", ["https://x.io/a"]),
        ("[here](https://x.io/a_(b)).", ["https://x.io/a_(b)"]),
        ("https://x.io/wiki/A_(b) c", ["https://x.io/wiki/A_(b)"]),
        ("ops/deploy.sh: run it", ["ops/deploy.sh"]),
        ("/etc", ["/etc"]),
        ("a/b(c d", []),
        ("f(a/b d", ["a/b"]),
        ("f(a/b)", ["a/b"]),
        ("fix v1.2.3. And", ["v1.2.3"]),
        ("word no-digit", []),
        (".5 and 5", ["5"]),
        ("2026-11-01,", ["2026-11-01"]),
        ("a,b2 c", []),
        ("x1(y2)z3", ["y2", "z3"]),
        ('"path/to" <a/b> `c/d` e\\f/g', ["path/to", "a/b", "c/d", "f/g"]),
        ("see[link chat-1:12]now", ["[link chat-1:12]"]),
        ("[link chat 1:12] [link chat-1:x]", []),
        ("who? what! where:", []),
        ("", []),
    ],
)
def test_the_atoms_of_a_text(text: str, expected: list[str]) -> None:
    assert found(text) == expected


pieces = st.sampled_from(
    ["a", "b1", "/", "(", ")", ".", ",", " ", "[link c:1]", "[", "]", '"', "://", "x/y", "\\"]
)


@settings(deadline=None)
@given(st.lists(pieces, max_size=30).map("".join), st.integers(0, 60))
def test_a_moved_cut_splits_no_atom_and_moves_to_its_edge(text: str, at: int) -> None:
    at = min(at, len(text))
    before, after = cut_before(text, at), cut_after(text, at)
    assert before <= at <= after
    assert atom_across(text, before) is None
    assert atom_across(text, after) is None
    spans = [(atom.start, atom.end) for atom in atoms(text)]
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)


@pytest.mark.parametrize(
    "unit",
    ["/", "(", ")", "()", "(a)", "(a", '"', "a/(", "1", ".", "a.", "://", "[link ", "((a/b)", "a:"],
)
def test_hostile_text_takes_time_in_proportion(unit: str) -> None:
    """Sixteen times the text would take 256 times as long, were it tried from every start."""
    short, long = unit * (SIZE // len(unit)), unit * (16 * SIZE // len(unit))
    quick = cpu_seconds(lambda: sum(1 for _ in atoms(short)))
    assert cpu_seconds(lambda: sum(1 for _ in atoms(long))) < 80 * max(quick, 0.001)


PIECES = ["a", "b/", "v1.2", "(", ")", " ", '"', "[link c:1]", "[link ", "c:1]", "x" * 150, "\n"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60), st.integers(0, 2_000))
def test_the_atom_across_a_place_is_the_one_that_a_whole_reading_finds(
    pieces: list[str], at: int
) -> None:
    text = "".join(pieces)
    across = [atom for atom in atoms(text) if atom.start < at < atom.end]
    assert [atom for atom in [atom_across(text, at)] if atom] == across


def test_the_atom_across_a_place_is_found_without_a_reading_of_all_before_it() -> None:
    text = "/a/b " * 400_000 + "/the/last one"
    started = time.process_time()
    for _ in range(200):
        found_there = atom_across(text, len(text) - len(" one") - 2)
    assert found_there is not None
    assert text[found_there.start : found_there.end] == "/the/last"
    # Each reading of the whole takes a quarter of a second.
    assert time.process_time() - started < 10
