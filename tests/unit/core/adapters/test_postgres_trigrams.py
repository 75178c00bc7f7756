"""Which two parts of a search's terms are asked for, given what is common."""

import pytest

from commonhold.adapters.postgres.trigrams import Sample

SIZE = 100


def sample(**texts: range) -> Sample:
    """The trigrams with the texts of the sample that each stands in."""
    return Sample(SIZE, {part: sum(1 << n for n in where) for part, where in texts.items()})


def test_the_two_parts_that_share_the_fewest_texts_are_asked_for() -> None:
    # The rarest two by themselves are always together.
    known = sample(abc=range(10), bcd=range(10), cde=range(50, 70))
    assert known.parts(["abcde"]) == ("abc", "cde")


def test_a_term_as_common_as_its_parts_is_not_rare() -> None:
    known = sample(abc=range(10), bcd=range(12))
    assert known.parts(["abcd"]) is None


def test_a_rare_term_beside_a_common_one_makes_both_rare() -> None:
    known = sample(abc=range(90), bcd=range(90))
    assert known.parts(["abcd", "wxyz"]) == ("wxy", "xyz")


def test_a_part_that_was_never_seen_is_the_rarest() -> None:
    known = sample(abc=range(3), bcd=range(3, 50))
    parts = known.parts(["abcd9"])
    assert parts is not None
    assert "cd9" in parts


@pytest.mark.parametrize("term", ["a", "ab", "abc", "ab.cd", "a-b-c-d", "....", "%_%_%", "abc%"])
def test_terms_without_two_parts_that_the_index_keeps_are_left_whole(term: str) -> None:
    assert sample().parts([term]) is None


def test_parts_do_not_cross_what_the_index_leaves_out() -> None:
    assert sample().parts(["abc-def"]) == ("abc", "def")


def test_the_parts_of_a_long_term_are_found_in_bounded_time() -> None:
    term = "".join(chr(0x4E00 + n) for n in range(20_000))
    parts = sample().parts([term])
    assert parts is not None
    assert all(part in term for part in parts)


def test_few_texts_say_nothing() -> None:
    assert Sample(63, {}).parts(["abcdef"]) is None
    assert Sample(64, {}).parts(["abcdef"]) is not None
