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
_RARE = 20


class Corpus:
    """Each of `rare_words` and `identifiers` stands in a few texts, which `planted_in` tells;
    `common` in many.

    A rare word is made of the syllables of all others; an identifier is a syllable with a
    number, and every fourth text has numbers of its own.
    """

    def __init__(self, size: int, *, copies: int = 8, seed: int = 6367) -> None:
        self._random = random.Random(seed)
        self.size = size
        # What is said often is short.
        vocabulary = sorted(self._make_words(_WORDS, syllables=(1, 2, 3)), key=len)
        self.rare_words = self._make_words(_RARE, syllables=(3, 4))
        self.identifiers = [
            f"{self._syllable()}{self._random.randrange(10_000, 100_000)}" for _ in range(_RARE)
        ]
        # As in any language: the n-th word is said about an n-th as often as the first.
        weights = list(accumulate(1 / (rank + 5) for rank in range(1, _WORDS + 1)))
        # Short as common words are, and long enough for a trigram of its own.
        self.common = next(word for word in vocabulary if len(word) >= 4)
        self._fragments = [
            " ".join(self._random.choices(vocabulary, cum_weights=weights, k=_FRAGMENT_WORDS))
            for _ in range(_FRAGMENTS)
        ]
        self.planted_in = self._plant(copies)

    def texts(self) -> Iterator[str]:
        planted = {number: word for word, rows in self.planted_in.items() for number in rows}
        choices, integer = self._random.choices, self._random.randrange
        for number in range(self.size):
            pieces = choices(self._fragments, k=_FRAGMENTS_A_TEXT)
            if number % 4 == 0:
                pieces.append(str(integer(10_000)))
            if number in planted:
                pieces.append(planted[number])
            yield " ".join(pieces)

    def _plant(self, copies: int) -> Mapping[str, list[int]]:
        """Rows for each word, no row twice."""
        words = [*self.rare_words, *self.identifiers]
        rows = self._random.sample(range(self.size), copies * len(words))
        return {
            word: sorted(rows[start : start + copies])
            for word, start in zip(words, range(0, len(rows), copies), strict=True)
        }

    def _make_words(self, count: int, *, syllables: Sequence[int]) -> list[str]:
        words: dict[str, None] = {}
        while len(words) < count:
            length = self._random.choice(syllables)
            words["".join(self._syllable() for _ in range(length))] = None
        return list(words)

    def _syllable(self) -> str:
        pick = self._random.choice
        return f"{pick(_ONSETS)}{pick(_VOWELS)}{pick(_CODAS)}"
