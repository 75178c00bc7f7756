"""Whether the turns and projections of a conversation are ones that the recorded acts made."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from tests.support.histories.erasures import secrets_in
from tests.support.histories.ordering import Observer, first_inversion, misplaced
from tests.support.histories.records import (
    Act,
    Answered,
    Attempt,
    Refused,
    Violation,
    gather_acts,
    sight_of,
)
from tests.support.histories.timelines import maker_of

Row = dict[str, Any]

PAGE_SIZE = 500
NEVER = -1
"""A number of turns that no conversation ever has."""


class ConversationState(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation read whole over the wire: rows in the shapes of the wire."""

    conversation_id: str
    turns: Sequence[Row]
    projections: Sequence[Row] = ()
    redactions: Sequence[Row] = ()


class _Case(msgspec.Struct, frozen=True, kw_only=True):
    acts: Mapping[str, Act]
    attempts: Sequence[Attempt]
    state: ConversationState

    def routed(self, route: str) -> list[Act]:
        return [act for act in self.acts.values() if act.route == f"conversation/{route}"]

    def makers(self) -> list[Act]:
        names = (maker_of(turn["actor"]) for turn in self.state.turns)
        return [self.acts[name] for name in names if name in self.acts]


def check_conversation(attempts: Iterable[Attempt], state: ConversationState) -> list[Violation]:
    """Judge one conversation that was empty before the first attempt."""
    within = [
        one for one in attempts if one.request.get("conversation_id") == state.conversation_id
    ]
    case = _Case(acts=gather_acts(within), attempts=within, state=state)
    return [
        *_check_numbers(case),
        *_check_appends(case),
        *_check_turn_contents(case),
        *_check_order(case),
        *_check_erased_turns(case),
        *_check_projections(case),
        *_check_shown(case),
    ]


def _check_numbers(case: _Case) -> Iterator[Violation]:
    numbers = [turn["turn"] for turn in case.state.turns]
    where = case.state.conversation_id
    if len(set(numbers)) < len(numbers):
        yield Violation("number_reused", where, f"{numbers}")
    elif numbers != list(range(1, len(numbers) + 1)):
        yield Violation("number_gap", where, f"{numbers}")
    stamps = [msgspec.convert(turn["created_at"], datetime) for turn in case.state.turns]
    for before, after in itertools.pairwise(stamps):
        if after < before:
            yield Violation("stamp_backwards", where, f"{after} after {before}")


def _check_appends(case: _Case) -> Iterator[Violation]:
    made = Counter(maker_of(turn["actor"]) for turn in case.state.turns)
    for name in made:
        act = case.acts.get(name)
        if act is None:
            yield Violation("row_of_nobody", name, "no act has this name")
        elif not act.may_have_happened:
            yield Violation("refused_left_effect", name, f"{act}")
    for act in case.routed("append_turn"):
        if made[act.name] > 1:
            yield Violation("applied_twice", act.name, f"{made[act.name]} turns of {act}")
        elif act.answer is not None and made[act.name] == 0:
            yield Violation("acknowledged_missing", act.name, f"{act}")
    yield from _check_answered_appends(case)


def _check_answered_appends(case: _Case) -> Iterator[Violation]:
    stored = {turn["turn"]: turn for turn in case.state.turns}
    for attempt in case.attempts:
        if attempt.route != "conversation/append_turn" or not isinstance(attempt.outcome, Answered):
            continue
        told = attempt.outcome.answer["turn"]
        row = stored.get(told["turn"], {})
        same = all(row.get(key) == told[key] for key in ("actor", "created_at"))
        whole = told["redacted"] or spoken(told) == spoken(attempt.request)
        if not same or not whole or maker_of(told["actor"]) != attempt.name:
            yield Violation("answer_disagrees", attempt.name, f"{told} beside {row}")


def spoken(document: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What the messages of a turn or of a request say, and who."""
    return [(message["role"], message["content"]) for message in document["messages"]]


def _check_turn_contents(case: _Case) -> Iterator[Violation]:
    for turn in case.state.turns:
        act = case.acts.get(maker_of(turn["actor"]))
        if act is None or act.route != "conversation/append_turn":
            continue
        wanted = [] if turn["redacted"] else spoken(act.request)
        if spoken(turn) != wanted:
            yield Violation("content_altered", act.name, f"{turn}, not {wanted}")


def _check_order(case: _Case) -> Iterator[Violation]:
    makers = case.makers()
    if (inversion := first_inversion(makers)) is not None:
        later, earlier = (makers[index] for index in inversion)
        yield Violation("order_inverted", later.name, f"{earlier} ended before {later} began")
        return
    for lost in misplaced(makers, list(_observers(case))):
        yield Violation("impossible_observation", case.state.conversation_id, lost.what)


def _observers(case: _Case) -> Iterator[Observer]:
    for attempt in case.attempts:
        last = _last_turn_seen(attempt)
        if last is not None:
            began, ended = sight_of(attempt, case.acts[attempt.name])
            yield Observer(began=began, ended=ended, places=[last], what=f"{attempt}")


def _last_turn_seen(attempt: Attempt) -> int | None:
    """The number of turns at the moment of the attempt; None when it does not tell."""
    match attempt.outcome:
        case Answered(answer=answer):
            return _last_turn_answered(attempt, answer)
        case Refused(code=code) if code != "agent_conversation_conflict":
            # No other refusal can come of requests that are well formed.
            return NEVER
    return None


def _last_turn_answered(attempt: Attempt, answer: Row) -> int | None:
    match attempt.route:
        case "conversation/last_turn_number":
            return int(answer["turn"])
        case "conversation/redact_turns" if _takes_all(attempt.request):
            return int(answer["count"])
        case "conversation/read_turns":
            after: int = attempt.request.get("after") or 0
            seen = [turn["turn"] for turn in answer["turns"]]
            if seen != list(range(after + 1, after + 1 + len(seen))):
                return NEVER
            if attempt.request.get("limit") is not None or len(seen) >= PAGE_SIZE:
                return None
            # An empty page after some turn says only that nothing followed.
            return after + len(seen) if seen or not after else None
    return None


def _takes_all(request: Mapping[str, Any]) -> bool:
    return request.get("through") is None and request.get("turns") is None


def _check_erased_turns(case: _Case) -> Iterator[Violation]:
    """The trail says what each erasure matched: that, and nothing else, is blank."""
    entries = {maker_of(entry["actor"]): entry["turns"] for entry in case.state.redactions}
    recorded = Counter(maker_of(entry["actor"]) for entry in case.state.redactions)
    blank = {turn["turn"] for turn in case.state.turns if turn["redacted"]}
    matched = {number for numbers in entries.values() for number in numbers}
    if blank != matched:
        rule = "erasure_missed" if matched - blank else "erasure_overreached"
        yield Violation(rule, case.state.conversation_id, f"{sorted(matched ^ blank)}")
    for act in case.routed("redact_turns"):
        found = entries.get(act.name, [])
        if recorded[act.name] > 1:
            yield Violation("applied_twice", act.name, f"{recorded[act.name]} entries of {act}")
        elif act.answer is not None and act.answer["count"] != len(found):
            yield Violation("erasure_unrecorded", act.name, f"{found} for {act}")
        if act.answer is not None:
            yield from _check_reach(case, act, set(found))


def _check_reach(case: _Case, erasure: Act, matched: set[int]) -> Iterator[Violation]:
    for turn in case.state.turns:
        maker = case.acts.get(maker_of(turn["actor"]))
        number = turn["turn"]
        if maker is None or not _selects(erasure.request, number):
            continue
        if maker.ended < erasure.began and number not in matched:
            yield Violation("erasure_missed", maker.name, f"{turn} by {erasure}")
        if maker.began > erasure.ended and number in matched:
            yield Violation("erasure_overreached", maker.name, f"{turn} by {erasure}")


def _selects(request: Mapping[str, Any], number: int) -> bool:
    if request.get("through") is not None:
        return number <= int(request["through"])
    return request.get("turns") is None or number in request["turns"]


def _check_projections(case: _Case) -> Iterator[Violation]:
    """Batches land whole and once; what an erasure met before is blank, and only that."""
    rows = case.state.projections
    standing = Counter(name for row in rows for name in secrets_in(row["text"]))
    batches = case.routed("append_projections")
    sizes = {act.name: len(act.request["entries"]) for act in batches}
    least = sum(sizes[act.name] for act in batches if act.answer is not None)
    most = sum(sizes[act.name] for act in batches if act.may_have_happened)
    if not least <= len(rows) <= most:
        rule = "acknowledged_missing" if len(rows) < least else "applied_twice"
        yield Violation(rule, "projections", f"{len(rows)} rows, not {least} to {most}")
    for name, count in standing.items():
        if name not in sizes or count != sizes[name]:
            yield Violation("batch_torn", name, f"{count} of {sizes.get(name)} entries stand")
    yield from _check_blank_projections(case, standing)
    yield from _check_insertion(rows)


def _check_blank_projections(case: _Case, standing: Counter[str]) -> Iterator[Violation]:
    entries = {maker_of(entry["actor"]): set(entry["turns"]) for entry in case.state.redactions}
    erasures = [act for act in case.routed("redact_turns") if act.name in entries]
    for batch in case.routed("append_projections"):
        if batch.answer is None:
            continue
        meeting = [act for act in erasures if _meets(batch, entries[act.name])]
        if standing[batch.name] and any(
            batch.ended < _latest_start(case, act, entries[act.name]) for act in meeting
        ):
            yield Violation("erasure_missed", batch.name, f"{batch}")
        if not standing[batch.name] and not any(act.ended >= batch.began for act in meeting):
            yield Violation("acknowledged_missing", batch.name, f"{batch}")


def _meets(batch: Act, matched: set[int]) -> bool:
    return any(
        entry["turn"] - (entry.get("span") or 1) < number <= entry["turn"]
        for entry in batch.request["entries"]
        for number in matched
    )


def _latest_start(case: _Case, erasure: Act, matched: set[int]) -> int:
    """The erasure took effect after this instant: it saw turns whose append began then."""
    began = [
        case.acts[maker_of(turn["actor"])].began
        for turn in case.state.turns
        if turn["turn"] in matched and maker_of(turn["actor"]) in case.acts
    ]
    return max([*began, erasure.began])


def _check_insertion(rows: Sequence[Row]) -> Iterator[Violation]:
    """Rows of one range stand in the order they came in: the blank ones first."""
    for before, after in itertools.pairwise(rows):
        same = (before["turn"], before["span"]) == (after["turn"], after["span"])
        if same and before["text"] and not after["text"]:
            yield Violation("erasure_missed", "projections", f"{before} is older than {after}")


def _check_shown(case: _Case) -> Iterator[Violation]:
    """No answer to a request made after the erasures shows a turn or projection they blanked."""
    erasures = [act.ended for act in case.routed("redact_turns") if act.may_have_happened]
    hidden = {maker_of(turn["actor"]) for turn in case.state.turns if turn["redacted"]}
    standing = {name for row in case.state.projections for name in secrets_in(row["text"])}
    hidden |= {act.name for act in case.routed("append_projections")} - standing
    for attempt in case.attempts:
        if not isinstance(attempt.outcome, Answered) or attempt.began <= max(erasures, default=0):
            continue
        if shown := hidden & secrets_in(attempt.outcome.answer):
            yield Violation("content_shown", attempt.name, f"{sorted(shown)}")
