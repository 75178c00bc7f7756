"""Clocks that a test moves by hand."""

from datetime import UTC, datetime, timedelta


class MonotonicClock:
    """Seconds since some moment, as `time.monotonic`."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class MovedClock:
    """The contract's clock, standing still until it is moved."""

    def __init__(self, *, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.moment = start

    def now(self) -> datetime:
        return self.moment

    def move(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)
