"""Texts made short without splitting an atom (docs/reference/mcp.md, section 11.3)."""

from commonhold.usecases.history.atoms import cut_after, cut_before
from commonhold.usecases.history.links import Links

NO_LINKS = Links("")
CUT = " \N{HORIZONTAL ELLIPSIS}"
MIDDLE_CUT = " \N{HORIZONTAL ELLIPSIS} "

_DIGEST = 140
_DIGEST_HEAD = 100
_DIGEST_TAIL = 40
_NAME = 200


def collapse(text: str) -> str:
    """One line: every run of whitespace is one space."""
    return " ".join(text.split())


def one_line(text: str, limit: int, *, marker: str = CUT, links: Links = NO_LINKS) -> str:
    """Collapsed and contracted; cut in front of the atom at `limit` when it is longer.

    Only the marker may stand beyond the limit.
    """
    # So many words are longer than the limit whatever they are; the rest is never looked at.
    words = text.split(None, limit + 1)[: limit + 1]
    line = links.contract(" ".join(words))
    if len(line) <= limit:
        return line
    return (line[: cut_before(line, limit)].rstrip() + marker).lstrip()


def digest_line(text: str, *, links: Links = NO_LINKS) -> str:
    """Collapsed and contracted; the middle is left out when it is long."""
    words = text.split(None, _DIGEST)
    if len(words) <= _DIGEST:
        first = last = links.contract(" ".join(words))
        if len(first) <= _DIGEST:
            return first
    else:
        # So many words are too long whatever they are; those in the middle are never looked at.
        first = links.contract(" ".join(words[:-1]))
        last = links.contract(" ".join(text.rsplit(None, _DIGEST)[1:]))
    head = first[: cut_before(first, _DIGEST_HEAD)]
    tail = last[cut_after(last, len(last) - _DIGEST_TAIL) :]
    return f"{head}{MIDDLE_CUT}{tail}".strip()


def name_line(name: str | None) -> str:
    """A name that any client may have chosen, such as an actor or a tool, on one short line."""
    return one_line(name or "", _NAME) or "-"
