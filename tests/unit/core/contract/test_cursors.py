"""Cursors: each names a position of its own kind, to the last element."""

import base64
from typing import Any

import pytest

from commonhold.contract.paging import (
    HistoryPosition,
    ListPosition,
    TrailPosition,
    VersionsPosition,
    decode_cursor,
    encode_cursor,
)

POSITIONS = (
    ListPosition("notes/a"),
    VersionsPosition(3),
    HistoryPosition(-5, "notes/a", 3),
    TrailPosition(7, 9),
)


def cursor(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode()


@pytest.mark.parametrize("position", POSITIONS, ids=lambda position: type(position).__name__)
def test_a_cursor_gives_its_position_back(position: Any) -> None:
    assert decode_cursor(encode_cursor(position), type(position)) == position


@pytest.mark.parametrize(
    "raw",
    [
        b'["list","a","b"]',
        b'["list"]',
        b'["list",1]',
        b'["versions",1]',
        b'{"type":"list","path":"a"}',
        b'["list","a\\u0000"]',
        b"null",
        b"",
    ],
)
def test_anything_else_is_malformed(raw: bytes) -> None:
    text = cursor(raw)
    with pytest.raises(ValueError, match="malformed list cursor"):
        decode_cursor(text, ListPosition)


def test_a_text_longer_than_any_cursor_is_malformed() -> None:
    longest = encode_cursor(ListPosition("a" * 3061))
    assert len(longest) == 4096
    assert decode_cursor(longest, ListPosition)
    with pytest.raises(ValueError, match="malformed list cursor"):
        decode_cursor(encode_cursor(ListPosition("a" * 3062)), ListPosition)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30, 1.5, True])
def test_a_number_no_column_holds_is_malformed(number: float) -> None:
    text = cursor(f'["versions",{str(number).lower()}]'.encode())
    with pytest.raises(ValueError, match="malformed versions cursor"):
        decode_cursor(text, VersionsPosition)
