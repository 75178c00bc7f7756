"""Timestamps in and out (docs/reference/grammar.md, section 8) and what a clock may say."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from commonhold.conformance import BackwardsClock, FrozenClock, TickingClock
from commonhold.contract import SystemClock, format_timestamp, parse_timestamp
from commonhold.contract.clock import read_clock, require_aware

NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001 - what must be refused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00+05:30", datetime(2025, 12, 31, 18, 30, tzinfo=UTC)),
        ("2026-01-01 12:00:00+00:00", datetime(2026, 1, 1, 12, tzinfo=UTC)),
        ("20990101T050000Z", datetime(2099, 1, 1, 5, tzinfo=UTC)),
        ("2099-W01-1T05:00:00Z", datetime(2098, 12, 29, 5, tzinfo=UTC)),
        ("2026-01-01T00:00:00.123456789Z", datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)),
        ("2026-01-02T00:00:00+23:59", datetime(2026, 1, 1, 0, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00.5-01:00", datetime(2026, 1, 1, 1, 0, 0, 500000, tzinfo=UTC)),
    ],
)
def test_an_iso_text_with_an_offset_is_read_as_utc(text: str, expected: datetime) -> None:
    moment = parse_timestamp(text)
    assert (moment, moment.utcoffset()) == (expected, timedelta())


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "",
        "2026-01-01T00:00:60Z",
        "0000-01-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-01T00:00:00Z ",
        "1767225600",
    ],
)
def test_what_is_no_timestamp_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat string|naive wire timestamp") as refused:
        parse_timestamp(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("text", ["2026-01-01", "2026-01-01T00:00:00"])
def test_a_timestamp_without_an_offset_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^naive wire timestamp refused: '2026-01-01") as refused:
        parse_timestamp(text)
    assert str(refused.value) == f"naive wire timestamp refused: {text!r}"


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-01:00"])
def test_an_instant_outside_the_calendar_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="timestamp out of range"):
        parse_timestamp(text)


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00Z"),
        (datetime(2026, 1, 1, 22, 0, 0, 500000, tzinfo=UTC), "2026-01-01T22:00:00.500000Z"),
        (datetime(2026, 1, 1, 22, 0, 0, 1, tzinfo=UTC), "2026-01-01T22:00:00.000001Z"),
    ],
)
def test_a_fraction_has_six_digits_or_none(moment: datetime, expected: str) -> None:
    assert format_timestamp(moment) == expected
    assert parse_timestamp(expected) == moment


def test_an_aware_reading_is_given_in_utc() -> None:
    east = datetime(2026, 1, 1, 5, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    reading = read_clock(FrozenClock(east))
    assert (reading, reading.tzinfo) == (datetime(2026, 1, 1, tzinfo=UTC), UTC)


def test_a_naive_moment_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^since must be timezone-aware"):
        require_aware(NAIVE, name="since")
    with pytest.raises(ValueError, match="clock reading must be timezone-aware"):
        read_clock(FrozenClock(NAIVE))


def test_the_system_clock_is_aware() -> None:
    assert SystemClock().now().utcoffset() == timedelta()


def test_the_clocks_of_the_kits_move_as_they_say() -> None:
    ticking, frozen, backwards = TickingClock(), FrozenClock(), BackwardsClock()
    assert ticking.now() < ticking.now()
    assert frozen.now() == frozen.now()
    assert backwards.now() > backwards.now()
    ticking.set(NAIVE)
    assert (ticking.now(), ticking.readings) == (NAIVE, 3)
    frozen.advance(timedelta(seconds=1))
    assert frozen.now() - FrozenClock().now() == timedelta(seconds=1)
