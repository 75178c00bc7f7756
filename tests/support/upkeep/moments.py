"""A store in which somebody acts at one moment of a pass, chosen by counting its calls."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

Act = Callable[[], Awaitable[object]]


class Moments:
    """Passes every call on to a store, and after the nth one lets `act` happen, unobserved.

    An instance has a class of its own with the methods of its store, as protocols look for
    methods on classes.
    """

    def __new__(cls, store: object, *, after: int, act: Act) -> "Moments":  # noqa: PYI034 - a subclass
        methods = {
            name: _passed_on(name)
            for name, found in inspect.getmembers(type(store), inspect.iscoroutinefunction)
            if not name.startswith("_")
        }
        return object.__new__(type("Watched", (cls,), methods))

    def __init__(self, store: object, *, after: int, act: Act) -> None:
        self.store = store
        self.calls: list[str] = []
        self._after = after
        self._act = act

    async def note(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) == self._after:
            await self._act()


def _passed_on(name: str) -> Callable[..., Awaitable[Any]]:
    async def call(self: Moments, *arguments: Any, **options: Any) -> Any:
        answer = await getattr(self.store, name)(*arguments, **options)
        await self.note(name)
        return answer

    return call
