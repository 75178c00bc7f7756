"""Reading typed parameters from a request body (docs/reference/wire.md, section 4).

Null counts as absent and nothing is coerced. Each function raises ValueError with the
wire's literal, so that the first call that fails is the fault the caller hears of.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from commonhold.contract.clock import parse_timestamp
from commonhold.contract.ids import MAX_NUMBER
from commonhold.contract.messages import Message, decode_messages
from commonhold.contract.turns import ConversationProjection

Body: TypeAlias = Mapping[str, Any]


def required_text(body: Body, name: str) -> str:
    value = body.get(name)
    if type(value) is str:
        return value
    raise _missing(name) if value is None else ValueError(f"parameter {name!r} must be a string")


def optional_text(body: Body, name: str) -> str | None:
    value = body.get(name)
    if value is None or type(value) is str:
        return value
    raise ValueError(f"parameter {name!r} must be a string")


def required_integer(body: Body, name: str) -> int:
    value = optional_integer(body, name)
    if value is None:
        raise _missing(name)
    return value


def optional_integer(body: Body, name: str) -> int | None:
    value = body.get(name)
    # `true` is an int to Python and none to the wire.
    if value is None or type(value) is int:
        return value
    raise ValueError(f"parameter {name!r} must be an integer")


def required_objects(body: Body, name: str) -> list[Body]:
    value = optional_objects(body, name)
    if value is None:
        raise _missing(name)
    return value


def optional_objects(body: Body, name: str) -> list[Body] | None:
    value = body.get(name)
    if value is None or (type(value) is list and all(type(item) is dict for item in value)):
        return value
    raise ValueError(f"parameter {name!r} must be a list of objects")


def optional_texts(body: Body, name: str) -> list[str] | None:
    value = body.get(name)
    if value is None or (type(value) is list and all(type(item) is str for item in value)):
        return value
    raise ValueError(f"parameter {name!r} must be a list of strings")


def optional_integers(body: Body, name: str) -> list[int] | None:
    value = body.get(name)
    if value is None or (type(value) is list and all(type(item) is int for item in value)):
        return value
    raise ValueError(f"parameter {name!r} must be a list of integers")


def optional_timestamp(body: Body, name: str) -> datetime | None:
    text = optional_text(body, name)
    return None if text is None else parse_timestamp(text)


def required_messages(body: Body, name: str) -> tuple[Message, ...]:
    return decode_messages(required_objects(body, name))


def decode_projection(row: Body) -> ConversationProjection:
    """One entry; its numbers are bounded, since they name turns that a store counts."""
    span = optional_integer(row, "span")
    turn = required_integer(row, "turn")
    kind = required_text(row, "kind")
    text = required_text(row, "text")
    if turn > MAX_NUMBER:
        raise ValueError(f"parameter 'turn' must be at most {MAX_NUMBER}")
    return ConversationProjection(
        turn=turn,
        kind=kind,  # type: ignore[arg-type]  # the record refuses a kind that is none
        text=text,
        span=1 if span is None else span,
    )


def _missing(name: str) -> ValueError:
    return ValueError(f"missing parameter: {name!r}")
