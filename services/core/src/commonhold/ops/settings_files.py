"""TOML files that settings name: read whole, and every mistake with its line.

Whoever reads of one has the file open and the service down.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from commonhold.contract.errors import CommonholdError, ConfigurationError

# The way to a value from the top of the document.
Place: TypeAlias = tuple[str | int, ...]
T = TypeVar("T")

# Thousands of entries; what is longer is another file, or one without an end.
LIMIT_BYTES = 4 * 1024 * 1024

_LOCATED = re.compile(r"(.*) - at `\$(.*)`", re.DOTALL)
_FIELD = re.compile(r"`([^`]+)`")
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


def read_settings_file(path: str, *, variable: str, parse: Callable[[Mapping[str, Any]], T]) -> T:
    """What `parse` makes of the document; it raises SettingsFileError for what it refuses.

    Raises ConfigurationError, with the line, for a file that cannot be read or is wrong.
    """
    text = _text_of(path, variable=variable)
    try:
        return parse(_decoded(text))
    except SettingsFileError as error:
        line = line_of(text, error.place)
        raise ConfigurationError(f"{variable}: {path}, line {line}: {error.reason}") from None
    except _UndecodableError as error:
        raise ConfigurationError(f"{variable}: {path}: {error}") from None


class _UndecodableError(Exception):
    """Not a document at all."""


def _text_of(path: str, *, variable: str) -> str:
    try:
        with Path(path).open("rb") as file:
            content = file.read(LIMIT_BYTES + 1)
        text = content.decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigurationError(f"{variable}: {path} cannot be read: {reason}") from None
    if len(content) > LIMIT_BYTES:
        raise ConfigurationError(f"{variable}: {path} is longer than {LIMIT_BYTES} bytes")
    return text


def _decoded(text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise _UndecodableError("nested too deeply") from None
    except ValueError as error:
        # TOMLDecodeError, and what Python says of a number with thousands of digits.
        raise _UndecodableError(str(error)) from None


# Tries of the search below, so that a list over thousands of lines costs no minutes.
_MOST_TRIES = 200


def line_of(text: str, place: Place) -> int:
    """The line on which the value at a place begins, or nearest above it.

    TOML libraries keep no positions, so the beginning of the document is read again and
    again until it is known how much of it holds the place; only done for a file that is
    refused.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    for depth in range(len(place), 0, -1):
        line = _first_line(lines, place[:depth])
        if line is not None:
            return line
    return 1


def _first_line(lines: Sequence[str], place: Place) -> int | None:
    """By halves: more of a document never holds less. Some beginnings are no document."""
    without, holding = 0, len(lines)
    if not _holds(tomllib.loads("\n".join(lines)), place):
        return None
    tries = 0
    while True:
        middle = (without + holding) // 2
        for count in (*range(middle, without, -1), *range(middle + 1, holding)):
            tries += 1
            try:
                document = tomllib.loads("\n".join(lines[:count]))
            except ValueError:
                if tries < _MOST_TRIES:
                    continue
                return without + 1
            if _holds(document, place):
                holding = count
            else:
                without = count
            break
        else:
            return without + 1


def _holds(document: Any, place: Place) -> bool:
    for step in place:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
