"""What stands behind the byte of a lock file: one change by its names, lengths and sums.

Whoever opens a root acts on what is found there, and a root may come from anybody: an intent
is followed only when a change of ours could have written it (docs/adr/0024).
"""

import re
import zlib
from collections.abc import Iterator

import msgspec

from commonhold.adapters.file.layout import (
    DOCUMENTS,
    PROJECTIONS,
    TEMPORARY,
    TURNS,
    VERSIONS,
    is_temporary,
    kind_of,
    may_hold_leftovers,
)
from commonhold.contract.text import has_lone_surrogate

# The files that grow, all others are written whole.
_OF_ROWS = frozenset({VERSIONS, TURNS, PROJECTIONS})
# A file of the system is no longer.
_MOST_BYTES = 2**63 - 1
_DRAFT = re.compile(re.escape(TEMPORARY) + r"[0-9]{1,10}~?")


class ForeignIntentError(Exception):
    """An intent that no change of ours writes: not one of its names is to be touched."""


class Growth(msgspec.Struct, frozen=True, array_like=True):
    """Rows at the end of a file: how long it was, None when there was none, and their sum.

    `inner` has the sum up to the end of each row but the last; an older intent has none.
    """

    file: str
    before: int | None
    length: int
    checksum: int
    inner: tuple[int, ...] | None = None

    @property
    def start(self) -> int:
        return self.before or 0

    def is_whole(self, tail: bytes) -> bool:
        """Whether what stands behind the start begins with all the rows."""
        grown = tail[: self.length]
        return len(grown) == self.length and zlib.crc32(grown) == self.checksum

    def is_torn(self, tail: bytes) -> bool:
        """Whether what stands behind the start is of these rows alone, as far as they got.

        A row that was cut off has no newline; those before it have their sum.
        """
        if len(tail) > self.length:
            return False
        # A part that never reached the disk reads as zeros, which no row holds.
        is_holed = len(tail) == self.length and b"\x00" in tail
        ended = tail[: tail.rfind(b"\n") + 1]
        if self.inner is None or is_holed or not ended:
            return True
        sums = (*self.inner, self.checksum)
        rows = ended.count(b"\n")
        return rows <= len(sums) and zlib.crc32(ended) == sums[rows - 1]


class Move(msgspec.Struct, frozen=True, array_like=True):
    """A finished file under a temporary name, the name that it takes, and what is in it.

    `before` is the length and the sum of what has that name, or empty for nothing; only a
    change without rows needs it. An older intent says neither.
    """

    temporary: str
    file: str
    length: int | None = None
    checksum: int | None = None
    before: tuple[int, ...] | None = None

    @property
    def after(self) -> tuple[int | None, int | None]:
        return self.length, self.checksum


class Intent(msgspec.Struct, frozen=True, array_like=True):
    """One change, in the order in which it is made."""

    growths: tuple[Growth, ...] = ()
    moves: tuple[Move, ...] = ()
    removals: tuple[str, ...] = ()


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Intent)


def encode_intent(intent: Intent) -> bytes:
    payload = _encoder.encode(intent)
    return b"%08x %s" % (zlib.crc32(payload), payload)


def decode_intent(stored: bytes) -> Intent | None:
    """The intent; None for one whose writing was not finished: nothing followed it.

    ForeignIntentError for what is finished and no change of ours.
    """
    checksum, _, payload = stored.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(payload):
        return None
    try:
        intent = _decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ForeignIntentError(str(error)) from None
    for fault in _faults(intent):
        raise ForeignIntentError(fault)
    return intent


def names_of(intent: Intent) -> list[str]:
    """Every file of a change but its drafts."""
    changed = [growth.file for growth in intent.growths]
    return sorted({*changed, *(move.file for move in intent.moves), *intent.removals})


def _faults(intent: Intent) -> Iterator[str]:
    for growth in intent.growths:
        if kind_of(growth.file) not in _OF_ROWS:
            yield f"{growth.file!r} is no file of rows"
        if not 0 <= growth.start < growth.start + growth.length <= _MOST_BYTES:
            yield f"{growth.file!r} cannot grow from {growth.before} by {growth.length}"
    for move in intent.moves:
        if kind_of(move.file) is None:
            yield f"{move.file!r} is no file of the layout"
        if not _is_draft_of(move.temporary, move.file):
            yield f"{move.temporary!r} is no draft of {move.file!r}"
    for file in intent.removals:
        if kind_of(file) != DOCUMENTS and not _is_leftover(file):
            yield f"{file!r} is neither a document nor a leftover"


def _is_draft_of(temporary: str, file: str) -> bool:
    above, _, name = temporary.rpartition("/")
    return above == file.rpartition("/")[0] and _DRAFT.fullmatch(name) is not None


def _is_leftover(file: str) -> bool:
    """Whether a change may find a temporary file there, whoever has left it."""
    folder, _, name = file.rpartition("/")
    is_name = "\0" not in file and not has_lone_surrogate(file)
    return is_name and is_temporary(name) and may_hold_leftovers(folder)
