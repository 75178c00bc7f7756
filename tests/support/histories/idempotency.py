"""Whether requests repeated under one key had one effect and got one answer."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.support.histories.records import Answered, Attempt, Refused, Violation

ERASABLE = ("content", "messages", "redacted")


def check_keys(attempts: Iterable[Attempt]) -> list[Violation]:
    by_key: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        if attempt.key is not None:
            by_key[attempt.name, attempt.key].append(attempt)
    return [violation for tries in by_key.values() for violation in (*_check_one_key(tries),)]


def _check_one_key(tries: list[Attempt]) -> Iterator[Violation]:
    answers = [
        (one, _lasting(one.outcome.answer)) for one in tries if isinstance(one.outcome, Answered)
    ]
    for one, answer in answers[1:]:
        if answer != answers[0][1]:
            yield Violation("answers_differ", one.name, f"{answer}, not {answers[0][1]}")
    if not answers:
        return
    settled = min(one.ended for one, _ in answers)
    for one in tries:
        if isinstance(one.outcome, Refused) and one.began > settled:
            yield Violation("replay_refused", one.name, f"{one}")


def _lasting(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an answer that no erasure changes."""
    return {
        key: _lasting(value) if isinstance(value, dict) else value
        for key, value in answer.items()
        if key not in ERASABLE
    }
