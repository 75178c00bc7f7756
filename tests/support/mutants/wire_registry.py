"""Services with one broken rule each, and the cases of the wire's kit that must see it."""

from collections.abc import Callable
from typing import Any

import msgspec

from tests.support.wire_proxy import Bend, Exchange


class WireMutant(msgspec.Struct, frozen=True):
    """A bend, before the service is asked or after it answered."""

    bend: Bend
    before: bool
    seen_by: tuple[str, ...]


MUTANTS: dict[str, WireMutant] = {}


def before(*cases: str) -> Callable[[Bend], Bend]:
    return _register(cases, is_before=True)


def after(*cases: str) -> Callable[[Bend], Bend]:
    return _register(cases, is_before=False)


def _register(cases: tuple[str, ...], *, is_before: bool) -> Callable[[Bend], Bend]:
    def register(bend: Bend) -> Bend:
        name = bend.__name__.replace("_", " ")
        seen_by = tuple(case.replace("_", " ") for case in cases)
        MUTANTS[name] = WireMutant(bend, before=is_before, seen_by=seen_by)
        return bend

    return register


def each_object(value: Any, change: Callable[[dict[str, Any]], None]) -> None:
    """Change every object inside, the outer ones last."""
    if isinstance(value, dict):
        for inner in value.values():
            each_object(inner, change)
        change(value)
    elif isinstance(value, list):
        for inner in value:
            each_object(inner, change)


def tell_each(exchange: Exchange, change: Callable[[dict[str, Any]], None]) -> None:
    told = exchange.told
    each_object(told, change)
    exchange.told = told


def refuse(exchange: Exchange) -> None:
    exchange.status, exchange.said = 400, {"content-type": "application/json"}
    exchange.told = {"error": {"code": "value_error", "message": "no", "details": {}}}


def succeed(exchange: Exchange, answer: dict[str, Any]) -> None:
    exchange.status, exchange.said = 200, {"content-type": "application/json"}
    exchange.told = answer


def error_in(exchange: Exchange) -> dict[str, Any]:
    found: dict[str, Any] = exchange.told.get("error", {})
    return found


def reword(exchange: Exchange, old: str, new: str) -> None:
    if exchange.status == 400:
        exchange.answer = exchange.answer.replace(old.encode(), new.encode())


def ask(exchange: Exchange, **changes: Any) -> None:
    exchange.asked = {**exchange.asked, **changes}
