"""Rules as the kits check them: a failure names the rule and the page that states it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import msgspec
import pytest

from commonhold.contract.errors import CommonholdError


class Rule(msgspec.Struct, frozen=True):
    """One sentence of a reference page, by its section."""

    section: str
    text: str
    page: str = "stores.md"

    def holds(self, condition: object, seen: object = "") -> None:
        if not condition:
            self.broken(f"seen: {seen!r}")

    def equal(self, seen: object, expected: object) -> None:
        if seen != expected:
            self.broken(f"expected: {expected!r}\nseen:     {seen!r}")

    @contextmanager
    def refuses(
        self, error: type[Exception], *, saying: str | None = None, **details: object
    ) -> Iterator[None]:
        """The block must raise exactly `error`, with the message and the details given."""
        try:
            yield
        except error as refusal:
            self._check_refusal(refusal, error, saying=saying, details=details)
        except Exception as other:  # noqa: BLE001 - whatever it is, it is not the refusal
            self.broken(f"expected: {error.__name__}\nseen:     {other!r}")
        else:
            self.broken(f"expected: {error.__name__}\nseen:     no refusal")

    def broken(self, evidence: str) -> NoReturn:
        where = f"docs/reference/{self.page}, section {self.section}"
        pytest.fail(f"{self.text}\n  ({where})\n{evidence}", pytrace=True)

    def _check_refusal(
        self,
        refusal: Exception,
        error: type[Exception],
        *,
        saying: str | None,
        details: dict[str, object],
    ) -> None:
        if type(refusal) is not error:
            self.broken(f"expected: {error.__name__}\nseen:     {refusal!r}")
        if saying is not None and saying not in str(refusal):
            self.broken(f"expected a message with: {saying!r}\nseen: {str(refusal)!r}")
        if details and isinstance(refusal, CommonholdError):
            seen: dict[str, Any] = dict(refusal.details)
            self.equal({name: seen.get(name) for name in details}, details)
