"""The note that hands work over, as the document `handoff` holds it.

docs/reference/memory-tool.md, section 15.
"""

import re
from datetime import datetime

import msgspec

from commonhold.contract.clock import format_timestamp, parse_timestamp

HANDOFF_PATH = "handoff"

_HEADER = re.compile(r"- ([a-z]+): (.*)")
_PICKED_UP = re.compile(r"picked up (\S+) by (.+)")
_PENDING = "pending"


class PickUp(msgspec.Struct, frozen=True):
    """When a note was taken up, and by whom."""

    at: datetime
    actor: str


class HandoffNote(msgspec.Struct, frozen=True, kw_only=True):
    """A note is pending until it is picked up; then it names the conversation that goes on."""

    actor: str
    written: datetime
    note: str
    picked_up: PickUp | None = None
    conversation: str | None = None


def render_handoff(note: HandoffNote) -> str:
    actor = _one_line(note.actor)
    headers = [f"- from: {actor}", f"- written: {format_timestamp(note.written)}"]
    headers.append(f"- status: {_status(note.picked_up)}")
    if note.conversation is not None:
        headers.append(f"- conversation: {note.conversation}")
    return "\n".join([f"# handoff from {actor}", "", *headers, "", note.note, ""])


def parse_handoff(content: str) -> HandoffNote | None:
    """None for a document that is no note, so that whoever edits it breaks nothing."""
    lines = content.split("\n")
    start = next((at for at, line in enumerate(lines) if _HEADER.fullmatch(line)), len(lines))
    end = next((at for at in range(start, len(lines)) if not lines[at].strip()), len(lines))
    headers: dict[str, str] = {}
    for found in filter(None, map(_HEADER.fullmatch, lines[start:end])):
        headers.setdefault(found[1], found[2])
    try:
        return HandoffNote(
            actor=headers["from"],
            written=parse_timestamp(headers["written"]),
            note="\n".join(lines[end + 1 :]).removesuffix("\n"),
            picked_up=_parse_status(headers["status"]),
            conversation=headers.get("conversation"),
        )
    except (KeyError, ValueError):
        return None


def _status(picked_up: PickUp | None) -> str:
    if picked_up is None:
        return _PENDING
    return f"picked up {format_timestamp(picked_up.at)} by {_one_line(picked_up.actor)}"


def _parse_status(text: str) -> PickUp | None:
    if text == _PENDING:
        return None
    found = _PICKED_UP.fullmatch(text)
    if found is None:
        raise ValueError(f"not the status of a handoff note: {text!r}")
    return PickUp(parse_timestamp(found[1]), found[2])


def _one_line(actor: str) -> str:
    # A stored actor is any text; a line break in it would end the header.
    return " ".join(actor.split())
