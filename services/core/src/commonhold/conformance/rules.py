"""Rules as the kits check them: a failure names the rule and the page that states it."""

import inspect
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, NoReturn

import msgspec
import pytest

from commonhold.contract.errors import CommonholdError


class Rule(msgspec.Struct, frozen=True):
    """One sentence of a reference page, by its section."""

    section: str
    text: str
    page: str = "stores.md"

    def __post_init__(self) -> None:
        _current.set(self)

    @property
    def where(self) -> str:
        return f"docs/reference/{self.page}, section {self.section}"

    def holds(self, condition: object, seen: object = "") -> None:
        __tracebackhide__ = True
        if not condition:
            self.broken(f"seen: {seen!r}")

    def equal(self, seen: object, expected: object) -> None:
        __tracebackhide__ = True
        if seen != expected:
            self.broken(f"expected: {expected!r}\nseen:     {seen!r}")

    @contextmanager
    def refuses(
        self, error: type[Exception], *, saying: str | None = None, **details: object
    ) -> Iterator[None]:
        """The block must raise exactly `error`, with the message and the details given."""
        __tracebackhide__ = True
        try:
            yield
        except error as refusal:
            self._check_refusal(refusal, error, saying=saying, details=details)
        except Exception as other:  # noqa: BLE001 - whatever it is, it is not the refusal
            self.broken(f"expected: {error.__name__}\nseen:     {other!r}")
        else:
            self.broken(f"expected: {error.__name__}\nseen:     no refusal")

    def broken(self, evidence: str) -> NoReturn:
        __tracebackhide__ = True
        pytest.fail(f"{self.text}\n  ({self.where})\n{evidence}", pytrace=True)

    def _check_refusal(
        self,
        refusal: Exception,
        error: type[Exception],
        *,
        saying: str | None,
        details: dict[str, object],
    ) -> None:
        __tracebackhide__ = True
        if type(refusal) is not error:
            self.broken(f"expected: {error.__name__}\nseen:     {refusal!r}")
        if saying is not None and saying not in str(refusal):
            self.broken(f"expected a message with: {saying!r}\nseen: {str(refusal)!r}")
        if details and isinstance(refusal, CommonholdError):
            seen: dict[str, Any] = dict(refusal.details)
            self.equal({name: seen.get(name) for name in details}, details)


_current: ContextVar[Rule | None] = ContextVar("current_rule", default=None)


def forget_rule() -> None:
    """Called before a test: what it does until it names a rule is about none yet."""
    _current.set(None)


def rule_in_question() -> str:
    """The rule that the running test named last, and where it is written."""
    rule = _current.get()
    if rule is None:
        return "before a rule was looked at: docs/reference/kits.md, section 5"
    return f"the rule it was about: {rule.text}\n  ({rule.where})"


class CitesRules:
    """The base of every kit: what a test did not expect says which rule it was about, too."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, test in tuple(vars(cls).items()):
            if name.startswith("test_") and inspect.iscoroutinefunction(test):
                setattr(cls, name, _citing(test))


def _citing(
    test: Callable[..., Coroutine[Any, Any, None]],
) -> Callable[..., Coroutine[Any, Any, None]]:
    @wraps(test)
    async def run(*arguments: Any, **fixtures: Any) -> None:
        __tracebackhide__ = True
        forget_rule()
        try:
            await test(*arguments, **fixtures)
        except Exception as error:
            error.add_note(rule_in_question())
            raise

    return run
