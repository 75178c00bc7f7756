"""The handoff note: written to the byte, read with forbearance."""

from datetime import UTC, datetime

import msgspec
import pytest

from commonhold.usecases.handoff_notes import HandoffNote, PickUp, parse_handoff, render_handoff

WRITTEN = datetime(2026, 11, 29, 23, 32, 36, 698903, tzinfo=UTC)
PENDING = HandoffNote(
    actor="client:ana/mcp:gateway", written=WRITTEN, note="Next: tag v2.\n\n- a: b"
)
PICKED_UP = msgspec.structs.replace(
    PENDING,
    picked_up=PickUp(datetime(2026, 11, 30, tzinfo=UTC), "client:bob/mcp:gateway"),
    conversation="chat-2",
)
PENDING_TEXT = """\
# handoff from client:ana/mcp:gateway

- from: client:ana/mcp:gateway
- written: 2026-11-29T23:32:36.698903Z
- status: pending

Next: tag v2.

- a: b
"""
PICKED_UP_TEXT = PENDING_TEXT.replace(
    "- status: pending\n",
    "- status: picked up 2026-11-30T00:00:00Z by client:bob/mcp:gateway\n- conversation: chat-2\n",
)


@pytest.mark.parametrize(("note", "text"), [(PENDING, PENDING_TEXT), (PICKED_UP, PICKED_UP_TEXT)])
def test_a_note_is_written_to_the_byte_and_read_back(note: HandoffNote, text: str) -> None:
    assert render_handoff(note) == text
    assert parse_handoff(text) == note


def test_a_line_break_in_a_name_adds_no_header() -> None:
    forged = msgspec.structs.replace(PENDING, actor="eve\n- status: picked up never by me")
    read = parse_handoff(render_handoff(forged))
    assert read is not None
    assert read.picked_up is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a document of another kind",
        PENDING_TEXT.replace("- from:", "- of:"),
        PENDING_TEXT.replace("- written:", "- at:"),
        PENDING_TEXT.replace("- status: pending\n", ""),
        PENDING_TEXT.replace("- status: pending", "- status: perhaps"),
        PENDING_TEXT.replace("698903Z", "698903"),
        PICKED_UP_TEXT.replace("T00:00:00Z", "T00:00:00"),
    ],
)
def test_what_does_not_parse_is_no_note(text: str) -> None:
    assert parse_handoff(text) is None
