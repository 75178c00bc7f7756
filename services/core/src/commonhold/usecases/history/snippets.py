"""The part of a turn that shows why a search found it (docs/reference/mcp.md, section 11.4)."""

from collections.abc import Sequence

from commonhold.contract.search import fold
from commonhold.usecases.history.atoms import Atom, atom_across
from commonhold.usecases.history.clipping import CUT, collapse

WINDOW = 160
_LEAD = 40
_WHOLE_ATOM = 80


def snippet(text: str, terms: Sequence[str]) -> str:
    """The best line, or a window of it around its first match; the terms are folded."""
    line = _best_line(text, terms)
    if len(line) <= WINDOW:
        return line
    start = max(0, min(_first_match(line, terms) - _LEAD, len(line) - WINDOW))
    end = _right_edge(line, start + WINDOW)
    start = _left_edge(line, start)
    shown = line[start:end].strip()
    opened = f"{CUT.strip()} " if start > 0 else ""
    closed = CUT if end < len(line) else ""
    return f"{opened}{shown}{closed}"


def _best_line(text: str, terms: Sequence[str]) -> str:
    """The line with the most distinct terms, of equals the first."""
    wanted = set(terms)
    best, most = "", -1
    for raw in text.split("\n"):
        folded = fold(raw)
        found = sum(term in folded for term in wanted)
        if found > most:
            best, most = raw, found
        if found == len(wanted):
            break
    return collapse(best)


def _first_match(line: str, terms: Sequence[str]) -> int:
    folded = fold(line)
    offsets = [offset for offset in map(folded.find, terms) if offset >= 0]
    offset = min(offsets, default=0)
    return offset if len(folded) == len(line) else _unfolded(line, offset)


def _unfolded(line: str, offset: int) -> int:
    """The place in the line of a place in its folded form, where a letter became two."""
    folded_length = 0
    for at, letter in enumerate(line):
        folded_length += len(fold(letter))
        if folded_length > offset:
            return at
    return len(line)


def _left_edge(line: str, at: int) -> int:
    """Where the window starts: a short atom is in whole, a long one is out."""
    atom = atom_across(line, at)
    if atom is None:
        return at
    return atom.start if _is_short(atom) else atom.end


def _right_edge(line: str, at: int) -> int:
    atom = atom_across(line, at)
    if atom is None:
        return at
    return atom.end if _is_short(atom) else atom.start


def _is_short(atom: Atom) -> bool:
    return atom.length <= _WHOLE_ATOM
