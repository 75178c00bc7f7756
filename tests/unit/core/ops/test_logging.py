"""One JSON event a line, whoever logs."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from commonhold.ops.logging import configure_logging


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    structlog.reset_defaults()
    root.handlers = handlers
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_line_of_json() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    structlog.get_logger("x").info("written", scope="u:a", text="two\nlines ☃", version=3)
    (event,) = lines(stream)
    assert event.pop("timestamp")
    assert event == {
        "level": "info",
        "event": "written",
        "scope": "u:a",
        "text": "two\nlines ☃",
        "version": 3,
    }
    assert "☃" in stream.getvalue()


def test_events_below_the_level_are_dropped() -> None:
    stream = io.StringIO()
    configure_logging(level="warning", stream=stream)
    logger = structlog.get_logger("x")
    logger.info("no")
    logger.warning("yes")
    assert [event["event"] for event in lines(stream)] == ["yes"]


def test_a_traceback_stays_on_its_line() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    try:
        int("broken")
    except ValueError:
        structlog.get_logger("x").exception("failed")
    (event,) = lines(stream)
    assert "ValueError: invalid literal" in str(event["exception"])


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_traceback_shows_no_values(form: str) -> None:
    """A request's variables are its headers, with the token, and its body."""
    stream = io.StringIO()
    configure_logging(form=form, stream=stream)

    def handle(authorization: str) -> None:
        raise RuntimeError(f"broken, {len(authorization)} characters in")

    secret = "Bearer t0ken"
    try:
        handle(secret)
    except RuntimeError:
        structlog.get_logger("x").exception("failed")
        logging.getLogger("asyncio").exception("failed too")
    assert stream.getvalue().count("broken, 12 characters in") == 2
    assert "in handle" in stream.getvalue()
    assert "t0ken" not in stream.getvalue()


def test_what_cannot_be_json_is_written_as_its_repr() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    structlog.get_logger("x").info("odd", value=ValueError("v"))
    assert lines(stream)[0]["value"] == "ValueError('v')"


def test_the_standard_library_takes_the_same_way() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    logging.getLogger("asyncio").warning("slow %s", "callback")
    logging.getLogger("asyncio").info("chatter")
    (event,) = lines(stream)
    assert (event["event"], event["logger"], event["level"]) == (
        "slow callback",
        "asyncio",
        "warning",
    )


@pytest.mark.parametrize(
    ("stream", "form", "is_json"),
    [
        (Terminal(), None, False),
        (Terminal(), "json", True),
        (io.StringIO(), None, True),
        (io.StringIO(), "console", False),
    ],
)
def test_the_form_follows_the_terminal_unless_it_is_set(
    stream: io.StringIO, form: str | None, *, is_json: bool
) -> None:
    configure_logging(form=form, stream=stream)
    structlog.get_logger("x").info("event", n=1)
    assert stream.getvalue().startswith("{") is is_json
    assert "event" in stream.getvalue()
