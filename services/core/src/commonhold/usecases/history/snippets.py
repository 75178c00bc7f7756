"""The part of a turn that shows why a search found it (docs/reference/mcp.md, section 11.4)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from commonhold.contract.search import fold
from commonhold.usecases.history.atoms import Atom, atom_across
from commonhold.usecases.history.clipping import CUT, collapse

WINDOW = 160
_LEAD = 40
# Lines with a term that are compared; behind them the best one so far is good enough.
MOST_LINES = 10_000
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
    folded = fold(text)
    best, most = 0, 0
    for start, end in islice(_matching_lines(folded, wanted), MOST_LINES):
        found = sum(folded.find(term, start, end) >= 0 for term in wanted)
        if found > most:
            best, most = start, found
        if found == len(wanted):
            break
    return collapse(_line_at(text, folded, best))


def _matching_lines(folded: str, terms: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Start and end of each line that holds a term; a text may be millions of others."""
    places = {term: folded.find(term) for term in terms}
    while places := {term: at for term, at in places.items() if at >= 0}:
        first = min(places.values())
        start, end = folded.rfind("\n", 0, first) + 1, folded.find("\n", first)
        end = len(folded) if end < 0 else end
        yield start, end
        places = {term: at if at > end else folded.find(term, end) for term, at in places.items()}


def _line_at(text: str, folded: str, start: int) -> str:
    """The line whose folded form starts there; folding keeps lines, if not their length."""
    if len(folded) != len(text):
        return text.split("\n")[folded.count("\n", 0, start)]
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start:end]


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
