"""Rows whose line is put together by hand: it is the line that the JSON encoder writes."""

from datetime import UTC, datetime

import pytest

from commonhold.adapters.file import lines
from commonhold.contract import MemoryVersion

ODD = 'a "quote", a \\, \r\n\t\x01\x7f \u00e9 \u2028 \N{GRINNING FACE}'


@pytest.mark.parametrize(("content", "actor"), [(ODD, None), ("x", ODD), ("", "a")])
def test_a_version_is_spelled_as_every_other_row(content: str, actor: str | None) -> None:
    row = MemoryVersion(
        path="a.b/c",
        version=7,
        action="modified",
        content=content,
        actor=actor,
        created_at=datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=UTC),
        redacted=not content,
    )
    expected = {
        "neosian_format": 1,
        "path": "a.b/c",
        "version": 7,
        "action": "modified",
        "content": content,
        "actor": actor,
        "created_at": "2026-01-02T03:04:05.000600Z",
        "redacted": not content,
    }
    assert lines.encode_version(row) == lines.encode_row(expected)
    assert lines.decode_version(lines.encode_version(row), number=1) == row
