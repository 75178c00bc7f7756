"""When a garden is due: the same moment for every worker, later by the jitter, never earlier."""

from datetime import UTC, datetime, timedelta

import pytest

from commonhold.contract.gardens import GardenRun
from commonhold_maintenance.schedules import MOST_SKEW, Calendar, Schedule, due_at

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def test_a_garden_that_never_ran_is_due_at_once_by_interval() -> None:
    assert due_at(Schedule(), name="home", last=None, started_at=START) == START


def test_a_garden_that_never_ran_waits_for_its_first_time_by_cron() -> None:
    schedule = Schedule(cron="15 3 * * *", jitter=0.0)
    due = due_at(schedule, name="home", last=None, started_at=START)
    assert due == datetime(2026, 3, 2, 3, 15, tzinfo=UTC)


def test_an_interval_counts_from_the_end_of_the_last_pass() -> None:
    last = GardenRun(finished_at=START)
    due = due_at(Schedule(jitter=0.0), name="home", last=last, started_at=START + 9 * DAY)
    assert due == START + DAY


@pytest.mark.parametrize("schedule", [Schedule(), Schedule(cron="0 12 * * *")])
def test_jitter_spreads_later_and_within_its_share(schedule: Schedule) -> None:
    last = GardenRun(finished_at=START)
    moments = [
        due_at(schedule, name=f"garden-{number}", last=last, started_at=START)
        for number in range(200)
    ]
    late = [(moment - START - DAY) / DAY for moment in moments]
    assert 0 <= min(late) < 0.01
    assert 0.09 < max(late) <= 0.1
    assert moments == [
        due_at(schedule, name=f"garden-{number}", last=last, started_at=START + DAY)
        for number in range(200)
    ]


BY_INTERVAL = Schedule(jitter=0.0)
BY_CRON = Schedule(cron="15 3 * * *", jitter=0.0)
MOMENT = timedelta(microseconds=1)


def is_due(schedule: Schedule, *, last: datetime, now: datetime) -> bool:
    calendar = Calendar(START)
    return calendar.is_due(schedule, name="home", last=GardenRun(finished_at=last), now=now)


def test_a_garden_is_due_from_its_moment_on() -> None:
    assert not is_due(BY_INTERVAL, last=START, now=START + DAY - MOMENT)
    assert is_due(BY_INTERVAL, last=START, now=START + DAY)


@pytest.mark.parametrize("schedule", [BY_INTERVAL, BY_CRON])
def test_a_pass_that_ended_in_the_future_keeps_nobody_waiting(schedule: Schedule) -> None:
    # Noted by a worker whose clock was a year ahead, and which has been put right since.
    assert is_due(schedule, last=START + 365 * DAY, now=START + DAY)


def test_clocks_that_differ_a_little_run_nothing_twice() -> None:
    assert not is_due(BY_INTERVAL, last=START + MOST_SKEW, now=START)
    assert is_due(BY_INTERVAL, last=START + MOST_SKEW + MOMENT, now=START)


@pytest.mark.parametrize("schedule", [BY_INTERVAL, BY_CRON])
def test_a_worker_that_started_in_the_future_does_not_wait_for_it(schedule: Schedule) -> None:
    calendar = Calendar(START + 365 * DAY)
    looks = [START + hours * timedelta(hours=1) for hours in range(24)]
    due = [calendar.is_due(schedule, name="home", last=None, now=now) for now in looks]
    assert any(due)
