"""The entries beside a conversation's turns: in files as they came, answered by turn and span."""

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

import msgspec

from commonhold.adapters.file import lines
from commonhold.adapters.file.findings import MOST_ROWS, Findings
from commonhold.adapters.file.tree import Place, Tree
from commonhold.contract.turns import ConversationProjection

_turn_of = attrgetter("turn")


class _Mark(msgspec.Struct, frozen=True):
    """An entry by its place: bytes `start` to `end` of its file."""

    turn: int
    span: int
    number: int
    start: int
    end: int


class Projections:
    """The entries of one root; the caller holds its lock, and tells faults by their file."""

    def __init__(self) -> None:
        self._marks = Findings[Sequence[_Mark]](most=MOST_ROWS, weigh=len)

    def read(
        self, tree: Tree, file: str, *, after: int, limit: int | None, max_bytes: int | None
    ) -> tuple[tuple[ConversationProjection, ...], bool]:
        """Entries, and whether some were left out because those before weigh `max_bytes`."""
        if tree.look_for_file(file) is not Place.FILE:
            return (), False
        marks = self._marks.get(tree, file, lambda: _marks_in(tree, file))
        start = bisect_right(marks, after, key=_turn_of)
        end = len(marks) if limit is None else start + limit
        found: list[ConversationProjection] = []
        weight = 0
        for entry in _read_each(tree, file, marks[start:end]):
            if max_bytes is not None and weight >= max_bytes:
                return tuple(found), True
            found.append(entry)
            weight += len(entry.text)
        return tuple(found), False


def _marks_in(tree: Tree, file: str) -> Sequence[_Mark]:
    """In the order of their answer; a row that cannot be read refuses all."""
    marks = []
    start = 0
    for number, line in enumerate(tree.lines(file), 1):
        entry = lines.decode_projection(line, number=number)
        end = start + len(line)
        marks.append(_Mark(entry.turn, entry.span, number, start, end))
        start = end + 1
    marks.sort(key=lambda mark: (mark.turn, mark.span))
    return marks


def _read_each(tree: Tree, file: str, marks: Sequence[_Mark]) -> Iterator[ConversationProjection]:
    with tree.open(file) as opened:
        for mark in marks:
            line = os.pread(opened.fileno(), mark.end - mark.start, mark.start)
            yield lines.decode_projection(line, number=mark.number)
