"""Answers given under idempotency keys: names and numbers, never content.

What a key protects is told again from the rows it names, so an erasure needs to forget
nothing here but the digests, by which a guess of erased text could be confirmed
(docs/reference/stores.md, section 12).
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.idempotency import KEY_LIFETIME, KEY_REUSED, IdempotencyKey

T = TypeVar("T")


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """What a mutation wrote. No `paths` is the whole scope, no `turn` the whole conversation."""

    operation: str
    scope: str | None = None
    paths: tuple[str, ...] = ()
    version: int | None = None
    created_at: datetime | None = None
    extra: Mapping[str, Any] = {}
    conversation_id: str | None = None
    turn: int | None = None
    count: int = 0


class Answer(msgspec.Struct, frozen=True):
    names: Names
    digest: bytes | None
    expires_at: datetime


class Once(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One guarded mutation: how to do it, what to remember of it, how to tell it again."""

    operation: str
    act: Callable[[], T]
    names: Callable[[T], Names]
    replay: Callable[[Names], T]


class Answers:
    """The answers of one store, for the lifetime of a key."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answers: dict[IdempotencyKey, Answer] = {}

    def once(self, once: Once[T], *, key: IdempotencyKey, digest: bytes) -> T:
        """Do it, or tell it again; a refusal leaves the key free."""
        now = read_clock(self._clock)
        self._sweep(now)
        known = self._answers.get(key)
        if known is not None:
            _require_same(known, operation=once.operation, digest=digest)
            return once.replay(known.names)
        result = once.act()
        self._answers[key] = Answer(
            names=once.names(result), digest=digest, expires_at=now + KEY_LIFETIME
        )
        return result

    def recall(self, *, key: IdempotencyKey, digest: bytes) -> Names | None:
        self._sweep(read_clock(self._clock))
        known = self._answers.get(key)
        if known is None:
            return None
        _require_same(known, operation=known.names.operation, digest=digest)
        return known.names

    def forget_documents(self, scope: str, *, path: str | None) -> None:
        """Null the digests of what wrote to the path, or anywhere in the scope."""
        for key, answer in self._answers.items():
            names = answer.names
            if names.scope == scope and (path is None or not names.paths or path in names.paths):
                self._answers[key] = _without_digest(answer)

    def forget_turns(self, conversation_id: str, turns: Iterable[int]) -> None:
        """Null the digests of what wrote one of the turns, or the conversation as a whole."""
        blanked = frozenset(turns)
        for key, answer in self._answers.items():
            names = answer.names
            if names.conversation_id == conversation_id and (
                names.turn is None or names.turn in blanked
            ):
                self._answers[key] = _without_digest(answer)

    def _sweep(self, now: datetime) -> None:
        expired = [key for key, answer in self._answers.items() if answer.expires_at <= now]
        for key in expired:
            del self._answers[key]


def _require_same(known: Answer, *, operation: str, digest: bytes) -> None:
    if known.names.operation != operation or known.digest not in (None, digest):
        raise ValueError(KEY_REUSED)


def _without_digest(answer: Answer) -> Answer:
    return msgspec.structs.replace(answer, digest=None)
