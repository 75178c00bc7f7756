"""The header Retry-After, in both of its forms."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


def read_retry_after(header: str | None, *, now: datetime) -> float | None:
    """Seconds from `now`, never negative; None for an absent or unreadable header."""
    text = (header or "").strip()
    if _SECONDS.fullmatch(text) is not None:
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    # A date "-0000" comes back without an offset, and means UTC.
    due = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return max(0.0, (due - now).total_seconds())
