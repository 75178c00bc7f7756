"""What an erasure of many steps could not do, told beside what it did.

Nothing that was erased comes back, so a step that fails must hide none of the others.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from commonhold.contract.errors import ClaimLostError, CommonholdError, StoreUnavailableError


class Shortfall(msgspec.Struct, frozen=True):
    """A step that was not done, and why."""

    step: str
    code: str
    reason: str

    def __str__(self) -> str:
        return f"{self.step}: [{self.code}] {self.reason}"


class Steps:
    """The steps of one erasure, each attempted though another failed."""

    def __init__(self) -> None:
        self.shortfalls: list[Shortfall] = []

    @property
    def is_cut_short(self) -> bool:
        """Whether the store went away, so that there is no use in going on."""
        return is_cut_short(self.shortfalls)

    @contextmanager
    def attempt(self, step: str) -> Iterator[None]:
        """Note what the store refuses; ClaimLostError ends all, the rest is somebody else's."""
        try:
            yield
        except ClaimLostError:
            raise
        except CommonholdError as error:
            self.shortfalls.append(Shortfall(step, error.code, error.message))


def is_cut_short(shortfalls: Iterable[Shortfall]) -> bool:
    return any(one.code == StoreUnavailableError.code for one in shortfalls)
