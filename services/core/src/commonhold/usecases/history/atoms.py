"""Atoms: the parts of a text that lose their meaning when they are cut.

docs/reference/mcp.md, section 11.5: addresses, paths, numbered words, and the handles that
stand for long ones. One pass finds them, whatever the text.
"""

import re
from collections.abc import Iterator

import msgspec

_TOKEN = r"[^\s\"'<>|\[\]()`\\]"  # noqa: S105 - a character class, not a secret
_HANDLE = r"\[link [A-Za-z0-9_.-]{1,128}:[0-9]{1,10}\]"
# Possessive throughout: a run is taken whole or not at all, so nothing is tried twice.
_RUN = re.compile(rf"(?P<handle>{_HANDLE})|(?:{_TOKEN}++|\({_TOKEN}*+\))++")
_PART = re.compile(rf"\((?P<inner>{_TOKEN}*+)\)|{_TOKEN}++")
_WORD = re.compile(r"(?!\.)[A-Za-z0-9_.-]++")
_DIGIT = re.compile(r"[0-9]")
_TRAILING = ".,;:!?"
_NOWHERE = -1
_LONGEST_HANDLE = len("[link ") + 128 + len(":") + 10 + len("]")
# To the last character that no run holds, of a piece of text.
_LAST_BREAK = re.compile(r"(?s).*[\s\"'<>|\[\]`\\]")
_STEP = 1024


class Atom(msgspec.Struct, frozen=True):
    """Characters `start` up to `end` of the text."""

    start: int
    end: int
    is_handle: bool = False

    @property
    def length(self) -> int:
        return self.end - self.start


def atoms(text: str) -> Iterator[Atom]:
    """The atoms from left to right; they never overlap."""
    return _atoms_from(text, 0)


def _atoms_from(text: str, start: int) -> Iterator[Atom]:
    for run in _RUN.finditer(text, start):
        if run["handle"]:
            yield Atom(run.start(), run.end(), is_handle=True)
        else:
            yield from _atoms_of_run(text, run.start(), run.end())


def atom_across(text: str, at: int) -> Atom | None:
    """The atom that a cut at `at` would split."""
    for atom in _atoms_from(text, _start_near(text, at)):
        if atom.start >= at:
            break
        if atom.end > at:
            return atom
    return None


def cut_before(text: str, at: int) -> int:
    """`at`, or the start of the atom that a cut there would split."""
    atom = atom_across(text, at)
    return at if atom is None else atom.start


def cut_after(text: str, at: int) -> int:
    """`at`, or the end of the atom that a cut there would split."""
    atom = atom_across(text, at)
    return at if atom is None else atom.end


def _start_near(text: str, at: int) -> int:
    """Where to begin looking for the atom across `at`: the text may be long.

    No atom reaches over a character that ends runs, save for a handle, whose end is near.
    One that is entered in its middle is behind us before `at`.
    """
    stop = at - _LONGEST_HANDLE
    while stop > 0:
        start = max(0, stop - _STEP)
        last = _LAST_BREAK.match(text[start:stop])
        if last is not None:
            return start + last.end() - 1
        stop = start
    return 0


def _atoms_of_run(text: str, start: int, end: int) -> Iterator[Atom]:
    """The atoms of a run: characters of tokens, bare or in parentheses, and what ends it.

    With a slash outside of parentheses all of it is one atom, an address with its scheme
    too. Otherwise a numbered word at its end and what stands in parentheses may be some.
    Nothing ends at a parenthesis that is not closed.
    """
    is_ended = not text.startswith("(", end)
    if is_ended and _holds_bare_slash(text, start, end):
        yield Atom(start, _trimmed(text, start, end))
        return
    for part in _PART.finditer(text, start, end):
        if part["inner"] is not None:
            first, last = part.span("inner")
            stop = _end_in_parentheses(text, first, last)
        else:
            first, last = part.span()
            stop = _word_end(text, first, last) if is_ended and last == end else _NOWHERE
        if stop > first:
            yield Atom(first, stop)


def _holds_bare_slash(text: str, start: int, end: int) -> bool:
    if text.find("/", start, end) < 0:
        return False
    parts = _PART.finditer(text, start, end)
    return any(part["inner"] is None and "/" in part[0] for part in parts)


def _end_in_parentheses(text: str, start: int, end: int) -> int:
    if text.find("/", start, end) >= 0:
        return _trimmed(text, start, end)
    return _word_end(text, start, end)


def _word_end(text: str, start: int, end: int) -> int:
    stop = _trimmed(text, start, end)
    is_word = _WORD.fullmatch(text, start, stop) and _DIGIT.search(text, start, stop)
    return stop if is_word else _NOWHERE


def _trimmed(text: str, start: int, end: int) -> int:
    """The end without the punctuation of the sentence around it."""
    while end > start and text[end - 1] in _TRAILING:
        end -= 1
    return end
