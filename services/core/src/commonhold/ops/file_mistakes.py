"""Mistakes in a file that settings name: what is wrong, and on which line.

Whoever reads it has the file open and the service down.
"""

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from commonhold.contract.errors import CommonholdError

# The way to a value from the top of the document.
Place: TypeAlias = tuple[str | int, ...]

_LOCATED = re.compile(r"(.*) - at `\$(.*)`", re.DOTALL)
_FIELD = re.compile(r"`(\w+)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class SettingsFileError(ValueError):
    """A mistake in the file and where it is."""

    def __init__(self, reason: str, *, place: Place) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place


@contextmanager
def mistakes_at(place: Place) -> Iterator[None]:
    """Give what is refused inside its place in the file."""
    try:
        yield
    except SettingsFileError:
        raise
    except CommonholdError as error:
        raise SettingsFileError(error.message, place=place) from None
    except ValueError as error:
        raise SettingsFileError(str(error), place=place) from None


def located(message: str, *, place: Place) -> SettingsFileError:
    """msgspec's message with its own way to the value taken out of it."""
    match = _LOCATED.fullmatch(message)
    reason, way = (match[1], match[2]) if match else (message, "")
    steps = [name or int(index) for name, index in _STEP.findall(way)]
    named = _FIELD.search(reason) if "field" in reason else None
    if named and "unknown" in reason:
        steps.append(named[1])
    return SettingsFileError(reason.replace("Object ", "the entry "), place=(*place, *steps))


def line_of(text: str, place: Place) -> int:
    """The line on which the value at a place begins, or nearest above it.

    TOML libraries keep no positions, so the document is read again line by line until it
    holds the place: slow, and only done for a file that is refused.
    """
    lines = text.splitlines()
    for depth in range(len(place), 0, -1):
        settled = 0
        for count in range(1, len(lines) + 1):
            try:
                document = tomllib.loads("\n".join(lines[:count]))
            except tomllib.TOMLDecodeError:
                continue
            if _holds(document, place[:depth]):
                return settled + 1
            settled = count
    return 1


def _holds(document: Any, place: Place) -> bool:
    for step in place:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
