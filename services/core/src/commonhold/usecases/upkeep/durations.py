"""How long ago, as operators write it (docs/reference/maintenance.md, section 6.2)."""

import re
from datetime import datetime, timedelta

_DURATION = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>[dh])")
_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1)}


def parse_duration(text: str) -> timedelta:
    """`30d` or `12h`, at least one of them; ValueError for anything else."""
    found = _DURATION.fullmatch(text)
    if found is None or int(found["number"]) == 0:
        raise ValueError(f"not a duration: {text!r} (e.g. 30d or 12h)")
    return int(found["number"]) * _UNITS[found["unit"]]


def cutoff_of(now: datetime, older_than: timedelta) -> datetime:
    """The moment so long before now; the first of all when the calendar does not reach."""
    try:
        return now - older_than
    except OverflowError:
        return datetime.min.replace(tzinfo=now.tzinfo)
