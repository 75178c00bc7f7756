"""Which parts of a search's terms the trigram index is asked for (docs/adr/0011).

A rare word is often made of common trigrams, and the index reads the list of each that it is
asked for. Two that seldom stand in one text narrow as well as all of them, at a fraction of
the cost. What is common is learnt from a sample of the turns; a wrong guess costs time only,
since every hit is compared with the whole terms.
"""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec

from commonhold.migrations.connections import Connection

SAMPLE_TEXTS = 512
SAMPLE_CHARACTERS = 1_200
SAMPLE_SECONDS = 600.0
# Below this many texts the turns are too few for an index to matter.
_LEAST_TEXTS = 64
# A term in more texts of the sample than this is one for the newest turns first.
_RARE_TEXTS = 2
_LENGTH = 3
# Of a long term the rarest parts are enough to choose two from.
_CANDIDATES = 12


class Sample(msgspec.Struct, frozen=True):
    """`texts` has a bit for each text that a trigram stands in.

    Those of one text alone are left out: they are most of all and would only be kept longer
    than the text itself.
    """

    size: int
    texts: Mapping[str, int]

    def parts(self, terms: Sequence[str]) -> tuple[str, str] | None:
        """Two parts that together are rare; None where the terms are not, or have no two."""
        if self.size < _LEAST_TEXTS:
            return None
        found = {part: self.texts.get(part, 0) for term in terms for part in _parts(term)}
        if len(found) < 2:  # noqa: PLR2004 - a pair
            return None
        shared = -1
        for bits in found.values():
            shared &= bits
        if shared.bit_count() > _RARE_TEXTS:
            return None
        rarest = sorted(found, key=lambda part: (found[part].bit_count(), part))[:_CANDIDATES]
        pairs = list(combinations(rarest, 2))
        return min(pairs, key=lambda pair: (found[pair[0]] & found[pair[1]]).bit_count())


class Trigrams:
    """The newest sample of one store's turns."""

    def __init__(self, statement: str) -> None:
        self._statement = statement
        self._sample = Sample(0, {})
        self._due = 0.0

    async def sample(self, conn: Connection) -> Sample:
        """The sample; one caller in ten minutes takes it anew, the others use the last one."""
        now = asyncio.get_running_loop().time()
        if now >= self._due:
            self._due = now + SAMPLE_SECONDS
            self._sample = await _take(conn, self._statement)
        return self._sample


async def _take(conn: Connection, statement: str) -> Sample:
    rows = await conn.fetch(statement, SAMPLE_TEXTS, SAMPLE_CHARACTERS)
    texts: dict[str, int] = {}
    for number, row in enumerate(rows):
        for part in _parts(row["text"]):
            texts[part] = texts.get(part, 0) | 1 << number
        # Other requests are not kept waiting for the count.
        await asyncio.sleep(0)
    return Sample(len(rows), {part: bits for part, bits in texts.items() if bits.bit_count() > 1})


def _parts(text: str) -> set[str]:
    """The trigrams that the index keeps: it knows letters and digits only."""
    windows = {text[at : at + _LENGTH] for at in range(len(text) - _LENGTH + 1)}
    return {window for window in windows if window.isalnum()}
