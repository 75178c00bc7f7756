"""The exchanges shown in docs/reference/wire.md, and answers made comparable with them."""

import re

import msgspec

from tests.support.markdown import fences, reference, section

TITLES = ("6. Memory routes", "7. Conversation routes", "8. Store routes")

_STAMP = re.compile(rb'"\d{4}-\d\d-\d\dT[\d:.]+Z"')
_CURSOR = re.compile(rb'"next_cursor":"[^"]+"')


class Exchange(msgspec.Struct, frozen=True):
    route: str
    request: bytes
    answer: bytes


def conversations() -> dict[str, list[Exchange]]:
    """Return the exchanges of each section; within one they happen one after another."""
    return {title: _exchanges(section(reference("wire.md"), title)) for title in TITLES}


def comparable(answers: list[bytes]) -> list[bytes]:
    """Number the stamps by their first appearance and blank the cursors.

    Which stamps are equal, the order of keys and every other byte stay.
    """
    numbers: dict[bytes, int] = {}

    def number(stamp: re.Match[bytes]) -> bytes:
        return b"T%d" % numbers.setdefault(stamp[0], len(numbers) + 1)

    return [_CURSOR.sub(b'"next_cursor":C', _STAMP.sub(number, answer)) for answer in answers]


def _exchanges(page: str) -> list[Exchange]:
    lines = [line for block in fences(page, "") for line in block.splitlines()]
    assert len(lines) % 3 == 0
    return [
        Exchange(route, request.removeprefix("> ").encode(), answer.removeprefix("< ").encode())
        for route, request, answer in zip(lines[::3], lines[1::3], lines[2::3], strict=True)
    ]
