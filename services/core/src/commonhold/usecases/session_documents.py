"""What the documents under `sessions/` say of a conversation.

docs/reference/memory-tool.md, section 15. Their writer is whoever records sessions, and
anyone may edit them, so reading them is tolerant: a line counts or does not.
"""

import re

import msgspec

SESSIONS_PREFIX = "sessions/"

_FIELD = re.compile(r"- ([a-z][a-z ]*): (.*)")


class SessionDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The text of each field as it stands, None where there is none."""

    agent: str | None = None
    conversation: str | None = None
    started: str | None = None
    last_prompt: str | None = None
    turns: str | None = None
    continues: tuple[str, ...] = ()


def parse_session(content: str) -> SessionDocument:
    """The first value of a key counts, of `continues` every one; unknown lines do not."""
    found: dict[str, list[str]] = {}
    for match in filter(None, map(_FIELD.fullmatch, content.split("\n"))):
        found.setdefault(match[1], []).append(match[2])
    return SessionDocument(
        agent=_first(found, "agent"),
        conversation=_first(found, "conversation"),
        started=_first(found, "started"),
        last_prompt=_first(found, "last prompt"),
        turns=_first(found, "turns"),
        continues=tuple(found.get("continues", ())),
    )


def _first(found: dict[str, list[str]], key: str) -> str | None:
    return next(iter(found.get(key, ())), None)
