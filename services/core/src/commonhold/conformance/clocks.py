"""Clocks that a test controls: the only time a store under test may know."""

from datetime import UTC, datetime, timedelta

START = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
# A step with microseconds in it: a store that drops them shows it.
STEP = timedelta(milliseconds=1, microseconds=3)


class ControlledClock:
    """Gives `next_reading` and moves by `step`, which may be nothing or negative.

    `readings` counts how often it was asked.
    """

    def __init__(self, start: datetime = START, *, step: timedelta = STEP) -> None:
        self.next_reading = start
        self.step = step
        self.readings = 0

    def now(self) -> datetime:
        reading = self.next_reading
        self.readings += 1
        self.next_reading = reading + self.step
        return reading

    def set(self, moment: datetime) -> None:
        """The next reading; a moment in the past is how a skewed replica looks."""
        self.next_reading = moment

    def advance(self, duration: timedelta) -> None:
        self.next_reading += duration


class TickingClock(ControlledClock):
    """Every reading is later than the one before."""


class FrozenClock(ControlledClock):
    """Every reading is the same."""

    def __init__(self, at: datetime = START) -> None:
        super().__init__(at, step=timedelta())


class BackwardsClock(ControlledClock):
    """Every reading is earlier than the one before."""

    def __init__(self, start: datetime = START) -> None:
        super().__init__(start, step=-STEP)
