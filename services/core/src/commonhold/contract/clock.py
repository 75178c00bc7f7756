"""The one source of time: stores read it once a call and never ask the database."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Gives the current instant as an aware UTC datetime with microseconds."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def read_clock(clock: Clock) -> datetime:
    """One reading, in UTC.

    Raises ValueError for a naive reading: a stamp without an offset cannot be
    compared with any other (docs/reference/stores.md, section 4).
    """
    return require_aware(clock.now(), name="clock reading")


def require_aware(moment: datetime, *, name: str) -> datetime:
    """The same instant in UTC; ValueError when `moment` carries no offset."""
    if moment.tzinfo is UTC:
        return moment
    if moment.utcoffset() is None:
        raise ValueError(f"{name} must be timezone-aware, got {moment.isoformat()}")
    return moment.astimezone(UTC)


def parse_timestamp(text: str) -> datetime:
    """An ISO 8601 text with an offset, as UTC (docs/reference/grammar.md, section 8).

    Raises ValueError, worded for the caller, for anything else: not a date, no
    offset, or out of range once converted.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"Invalid isoformat string: {text!r}") from None
    offset = moment.utcoffset()
    if offset is None:
        raise ValueError(f"naive wire timestamp refused: {text!r}")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"timestamp out of range: {text!r}") from None


def format_timestamp(moment: datetime) -> str:
    """`YYYY-MM-DDTHH:MM:SS[.ffffff]Z`; the fraction is absent when it is zero."""
    return moment.replace(tzinfo=None).isoformat() + "Z"
