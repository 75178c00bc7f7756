"""Texts that look like talk to an index: words of syllables, some common, most rare.

Seeded, so that two runs measure the same rows.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

_ONSETS = [*"bcdfghjklmnprstvwz", "br", "ch", "dr", "fl", "gr", "pl", "qu", "sh", "st", "tr"]
_VOWELS = [*"aeiou", "ai", "ea", "ou"]
_CODAS = ["", "", "", "l", "m", "n", "nd", "r", "rt", "s", "st", "t", "ck"]

_WORDS = 5_000
_FRAGMENTS = 20_000
_FRAGMENT_WORDS = 8
_FRAGMENTS_A_TEXT = 10
_RARE_WORDS = 20


class Corpus:
    """`rare` words stand in a few texts each, which `planted_in` tells; `common` in many."""

    def __init__(self, size: int, *, copies: int = 8, seed: int = 6367) -> None:
        self._random = random.Random(seed)
        self.size = size
        # What is said often is short.
        vocabulary = sorted(self._make_words(_WORDS, syllables=(1, 2, 3)), key=len)
        self.rare = self._make_words(_RARE_WORDS, syllables=(3, 4))
        # As in any language: the n-th word is said about an n-th as often as the first.
        weights = list(accumulate(1 / (rank + 5) for rank in range(1, _WORDS + 1)))
        self.common = vocabulary[40]
        self._fragments = [
            " ".join(self._random.choices(vocabulary, cum_weights=weights, k=_FRAGMENT_WORDS))
            for _ in range(_FRAGMENTS)
        ]
        self.planted_in: Mapping[str, list[int]] = {
            word: sorted(self._random.sample(range(size), copies)) for word in self.rare
        }

    def texts(self) -> Iterator[str]:
        planted = {number: word for word, rows in self.planted_in.items() for number in rows}
        choices = self._random.choices
        for number in range(self.size):
            text = " ".join(choices(self._fragments, k=_FRAGMENTS_A_TEXT))
            word = planted.get(number)
            yield text if word is None else f"{text} {word}"

    def _make_words(self, count: int, *, syllables: Sequence[int]) -> list[str]:
        words: dict[str, None] = {}
        while len(words) < count:
            length = self._random.choice(syllables)
            words["".join(self._syllable() for _ in range(length))] = None
        return list(words)

    def _syllable(self) -> str:
        pick = self._random.choice
        return f"{pick(_ONSETS)}{pick(_VOWELS)}{pick(_CODAS)}"
