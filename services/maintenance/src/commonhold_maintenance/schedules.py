"""When a garden is due. Every worker computes the same moment, so that none has to tell."""

import hashlib
from datetime import datetime, timedelta

import msgspec
from croniter import croniter

from commonhold.contract.gardens import GardenRun

MOST_JITTER = 0.1
DEFAULT_INTERVAL = timedelta(days=1)


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """Five fields of cron, in UTC, or an interval; `jitter` is a share of the time between.

    Raises ValueError for a line that is no cron line and a jitter out of bounds.
    """

    cron: str | None = None
    interval: timedelta = DEFAULT_INTERVAL
    jitter: float = MOST_JITTER

    def __post_init__(self) -> None:
        if not 0 <= self.jitter <= MOST_JITTER:
            raise ValueError(f"jitter must be from 0 to {MOST_JITTER:g}")
        if self.cron is not None and (
            len(self.cron.split()) != _CRON_FIELDS or not croniter.is_valid(self.cron)
        ):
            raise ValueError(f"not a cron line of five fields: {self.cron!r}")


_CRON_FIELDS = 5


def due_at(
    schedule: Schedule, *, name: str, last: GardenRun | None, started_at: datetime
) -> datetime:
    """The next moment of a garden; one that never ran is due at once, or at its next cron time."""
    since = started_at if last is None else last.finished_at
    if schedule.cron is None:
        if last is None:
            return started_at
        return since + schedule.interval * (1 + schedule.jitter * _fraction(name, since))
    times = croniter(schedule.cron, since)
    first: datetime = times.get_next(datetime)
    second: datetime = times.get_next(datetime)
    return first + (second - first) * schedule.jitter * _fraction(name, first)


def _fraction(name: str, moment: datetime) -> float:
    """Evenly spread from 0 to 1 over gardens and times, and the same for every worker."""
    seen = hashlib.sha256(f"{name} {moment.isoformat()}".encode()).digest()
    return int.from_bytes(seen[:4]) / 2**32
