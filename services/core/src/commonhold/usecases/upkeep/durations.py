"""How long ago, as operators write it (docs/reference/maintenance.md, section 6.2)."""

import re
from datetime import timedelta

_DURATION = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>[dh])")
_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1)}


def parse_duration(text: str) -> timedelta:
    """`30d` or `12h`, at least one of them; ValueError for anything else."""
    found = _DURATION.fullmatch(text)
    if found is None or int(found["number"]) == 0:
        raise ValueError(f"not a duration: {text!r} (e.g. 30d or 12h)")
    return int(found["number"]) * _UNITS[found["unit"]]
