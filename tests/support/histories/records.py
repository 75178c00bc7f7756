"""What a client saw of one run, and what the store holds at its end.

A history is a list of attempts. Every process of a run stamps them with the machine's
monotonic clock, so that "ended before the other began" holds between processes too.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

LOOKS = ("read", "list", "versions", "history", "redactions", "last", "search", "turn_redactions")
FOREVER = 1 << 62
"""The end of an attempt whose outcome is unknown: its effect may still come."""


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    answer: dict[str, Any]


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    code: str
    details: dict[str, Any] = {}


class Unknown(msgspec.Struct, frozen=True, tag="unknown"):
    """A 503, a lost connection, a timeout: nobody can say whether the effect took place."""

    why: str


Outcome: TypeAlias = Answered | Refused | Unknown


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One request as it was sent once.

    `name` is the actor that the request carries, so each row tells which act made it even
    after an erasure. Attempts of one name are repetitions under one idempotency key.
    """

    name: str
    route: str
    request: dict[str, Any]
    began: int
    ended: int
    outcome: Outcome
    key: str | None = None


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """All attempts of one name: what was asked, and the span in which it took effect."""

    name: str
    route: str
    request: dict[str, Any]
    began: int
    ended: int
    outcome: Outcome

    @property
    def answer(self) -> Mapping[str, Any] | None:
        return self.outcome.answer if isinstance(self.outcome, Answered) else None

    @property
    def may_have_happened(self) -> bool:
        return not isinstance(self.outcome, Refused)


class Violation(msgspec.Struct, frozen=True):
    """A rule that the run broke, where, and the evidence."""

    rule: str
    where: str
    evidence: str


def gather_acts(attempts: Iterable[Attempt]) -> dict[str, Act]:
    """Join the attempts of each name.

    An effect lies between the first beginning and the first answer. Without an answer one
    unknown attempt leaves all open: it may take effect after others were refused.
    """
    by_name: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        by_name[attempt.name].append(attempt)
    return {name: _join(tries) for name, tries in by_name.items()}


def is_mutation(route: str) -> bool:
    return not route.partition("/")[2].startswith(LOOKS)


def sight_of(attempt: Attempt, act: Act) -> tuple[int, int]:
    """When the state was looked at that the attempt's outcome tells of.

    What is answered under a key may be what an earlier attempt of the act found.
    """
    remembered = attempt.key is not None and is_mutation(attempt.route)
    if not remembered or not isinstance(attempt.outcome, Answered):
        return attempt.began, attempt.ended
    return act.began, act.ended


def _join(tries: list[Attempt]) -> Act:
    answered = [one for one in tries if isinstance(one.outcome, Answered)]
    unknown = [one for one in tries if isinstance(one.outcome, Unknown)]
    decisive = min(answered or unknown or tries, key=lambda one: one.ended)
    return Act(
        name=decisive.name,
        route=decisive.route,
        request=decisive.request,
        began=min(one.began for one in tries),
        ended=FOREVER if unknown and not answered else decisive.ended,
        outcome=decisive.outcome,
    )
