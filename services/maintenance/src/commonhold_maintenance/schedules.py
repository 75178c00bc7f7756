"""When a garden is due. Every worker computes the same moment, so that none has to tell."""

import hashlib
from datetime import UTC, datetime, timedelta

import msgspec
from croniter import CroniterBadDateError, croniter

from commonhold.contract.gardens import GardenRun

MOST_JITTER = 0.1
DEFAULT_INTERVAL = timedelta(days=1)


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """Five fields of cron, in UTC, or an interval; `jitter` is a share of the time between.

    Raises ValueError for a line that is no cron line, or of a day that never comes, and for
    a jitter out of bounds.
    """

    cron: str | None = None
    interval: timedelta = DEFAULT_INTERVAL
    jitter: float = MOST_JITTER

    def __post_init__(self) -> None:
        if not 0 <= self.jitter <= MOST_JITTER:
            raise ValueError(f"jitter must be from 0 to {MOST_JITTER:g}")
        if self.cron is not None:
            _check_cron(self.cron)


_CRON_FIELDS = 5
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)


def _check_cron(line: str) -> None:
    fields = line.split()
    # A field that begins with an R is one at random, which every worker would draw anew.
    if (
        len(fields) != _CRON_FIELDS
        or any(field[0] in "Rr" for field in fields)
        or not croniter.is_valid(line)
    ):
        raise ValueError(f"not a cron line of five fields: {line!r}")
    try:
        croniter(line, _SOME_DAY).get_next(datetime)
    except CroniterBadDateError:
        raise ValueError(f"a cron line whose day never comes: {line!r}") from None


# Clocks of machines differ by less; a moment that lies further ahead was read from a wrong one.
MOST_SKEW = timedelta(minutes=5)


class Calendar:
    """Which gardens are due, for a worker that runs since a moment; clocks may be set back."""

    def __init__(self, started_at: datetime) -> None:
        self._started_at = started_at

    def is_due(
        self, schedule: Schedule, *, name: str, last: GardenRun | None, now: datetime
    ) -> bool:
        """Whether its moment has come. A pass that ended in the future counts for none."""
        self._started_at = min(self._started_at, now)
        if last is not None and last.finished_at > now + MOST_SKEW:
            last = None
        return due_at(schedule, name=name, last=last, started_at=self._started_at) <= now


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
