"""Logs: one JSON event a line on stderr, or a readable form on a terminal.

Events carry names and numbers, never a body, a token or a document. What libraries log
through the standard library takes the same way out.
"""

import logging
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

_encoder = msgspec.json.Encoder(enc_hook=repr)


def configure_logging(
    *, level: str = "info", form: str | None = None, stream: TextIO | None = None
) -> None:
    """Send every event of this process to the stream (stderr), once, from the start.

    `form` is `json` or `console`; by default the latter on a terminal and the former else.
    """
    out = sys.stderr if stream is None else stream
    final = _console() if (form or _default_form(out)) == "console" else _json()
    _route_standard_library(out, level=LEVELS[level], final=final)
    structlog.configure(
        processors=[*_shared(), *final],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=out),
        cache_logger_on_first_use=False,
    )


def _route_standard_library(out: TextIO, *, level: int, final: Sequence[Processor]) -> None:
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.add_logger_name, *_shared()],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final],
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    # What libraries say below a warning is about themselves, not about the service.
    root.setLevel(max(level, logging.WARNING))


def _shared() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _json() -> list[Processor]:
    return [structlog.processors.format_exc_info, _render_json]


def _console() -> list[Processor]:
    # The renderer's own choice shows local variables: bodies, and the headers with the token.
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=plain)]


def _render_json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    ordered: dict[str, Any] = {
        "timestamp": event.pop("timestamp", None),
        "level": event.pop("level", None),
        "event": event.pop("event", None),
    }
    return _encoder.encode({**ordered, **event}).decode()


def _default_form(stream: TextIO) -> str:
    return "console" if stream.isatty() else "json"
