"""What a file that cannot be read becomes: a refusal whose place is told to operators alone.

The file and the line go to the log and into a note of the error, which the operator's shell
prints; an edge sends the message and the details, and neither has them.
"""

from typing import TypeVar

import structlog

from commonhold.contract.errors import CommonholdError

_log = structlog.get_logger(__name__)

Refusal = TypeVar("Refusal", bound=CommonholdError)


class RowFaultError(Exception):
    """A line or a file that is not what the layout says; `line` counts from 1."""

    def __init__(self, reason: str, *, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def placed(error: Refusal, *, file: str, line: int | None = None) -> Refusal:
    """The same error, with its place in the log and in a note."""
    where = file if line is None else f"{file}, line {line}"
    _log.warning("file_refused", file=file, line=line, code=error.code, message=error.message)
    error.add_note(f"in {where}")
    return error
