"""The decisions about order are exact: compared with trying every order on small histories."""

import itertools
import random

import msgspec
import pytest

from tests.support.histories.ordering import (
    Observer,
    first_inversion,
    is_serializable,
    misplaced,
)


class Span(msgspec.Struct, frozen=True):
    began: int
    ended: int


def random_span(source: random.Random) -> Span:
    began = source.randrange(12)
    return Span(began, began + source.randrange(1, 8))


def order_respects_time(spans: list[Span]) -> bool:
    return all(later.ended >= earlier.began for earlier, later in itertools.combinations(spans, 2))


@pytest.mark.parametrize("seed", range(200))
def test_inversions_are_those_that_comparing_all_pairs_finds(seed: int) -> None:
    source = random.Random(seed)
    spans = [random_span(source) for _ in range(5)]
    assert (first_inversion(spans) is None) == order_respects_time(spans)


@pytest.mark.parametrize("seed", range(200))
def test_observers_fit_exactly_when_some_choice_of_states_does(seed: int) -> None:
    source = random.Random(seed)
    acts = [random_span(source) for _ in range(3)]
    while not order_respects_time(acts):
        acts = [random_span(source) for _ in range(3)]
    observers = [
        Observer(
            began=span.began,
            ended=span.ended,
            places=sorted(source.sample(range(4), source.randrange(1, 3))),
            what="",
        )
        for span in (random_span(source) for _ in range(3))
    ]
    assert (not misplaced(acts, observers)) == any(
        choice_fits(acts, observers, choice)
        for choice in itertools.product(*(one.places for one in observers))
    )


def choice_fits(acts: list[Span], observers: list[Observer], choice: tuple[int, ...]) -> bool:
    """Act n stands at 2n, an observer of state n at 2n + 1; equal places are free."""
    placed = [(2 * number, act.began, act.ended) for number, act in enumerate(acts, start=1)]
    placed += [
        (2 * state + 1, one.began, one.ended) for one, state in zip(observers, choice, strict=True)
    ]
    return all(
        not (one[0] > other[0] and one[2] < other[1])
        for one, other in itertools.permutations(placed, 2)
    )


@pytest.mark.parametrize("seed", range(200))
def test_sequences_are_serializable_exactly_when_some_order_of_all_agrees(seed: int) -> None:
    source = random.Random(seed)
    acts = {name: random_span(source) for name in "vwxyz"}
    sequences = [source.sample("vwxyz", 3) for _ in range(2)]
    assert (is_serializable(acts, sequences) is None) == any(
        order_respects_time([acts[name] for name in order])
        and all(is_subsequence(sequence, order) for sequence in sequences)
        for order in itertools.permutations("vwxyz")
    )


def is_subsequence(sequence: list[str], order: tuple[str, ...]) -> bool:
    places = [order.index(name) for name in sequence]
    return places == sorted(places)
