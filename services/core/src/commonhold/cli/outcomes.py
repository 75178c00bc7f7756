"""How a verb answers: its result on stdout, as text or as one line of JSON, else why not.

docs/reference/cli.md, section 2.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from commonhold.cli.errors import CommandError
from commonhold.contract.errors import CommonholdError

JSON_FLAG = "--json"
USAGE = "usage"


def answer(value: dict[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
    """Print the one object, or the lines."""
    if as_json:
        print_object(value)
        return
    for line in lines:
        print(line)


def print_object(value: dict[str, Any]) -> None:
    print(json.dumps(value))


def report_usage(message: str, arguments: Sequence[str]) -> None:
    """For an invocation that is wrong; whoever parsed it has told stderr."""
    if JSON_FLAG in arguments:
        print_object({"error": USAGE, "hint": message})


def report_failure(error: Exception, message: str, arguments: Sequence[str]) -> None:
    """For a command that ran and failed; the code of a refusal is kept.

    What an error notes beside its message, such as the file that is broken, is the hint.
    """
    hint = "; ".join(getattr(error, "__notes__", ())) or None
    if isinstance(error, CommonholdError) and not isinstance(error, CommandError):
        message = f"[{error.code}] {message}"
    print(f"error: {message}", file=sys.stderr)
    if hint is not None:
        print(f"hint: {hint}", file=sys.stderr)
    if JSON_FLAG in arguments:
        print_object({"error": message, "hint": hint})
