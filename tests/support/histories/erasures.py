"""Whether an erasure left anything: in the rows, in later answers, anywhere in the database.

A row that was written before an erasure took effect must be blank, whoever wrote it and
however close it was. What decides "before": its writer had ended when the erasure began, or
the erasure blanked a row that is younger still.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from commonhold.contract.documents import MemoryRedaction, MemoryVersion
from tests.support.histories.records import FOREVER, Act, Answered, Attempt, Violation
from tests.support.histories.timelines import ScopeTimelines, Timeline, maker_of

SECRET = re.compile(r"secret-([A-Za-z0-9]+)")


def secret_of(name: str) -> str:
    """The text by which what an act wrote is known wherever it turns up."""
    return f"secret-{name}"


def check_document_erasures(
    timelines: ScopeTimelines, attempts: Sequence[Attempt], *, trail: Sequence[MemoryRedaction]
) -> Iterator[Violation]:
    erasures = [
        act
        for act in timelines.acts.values()
        if act.route == "memory/redact" and act.may_have_happened
    ]
    for timeline in timelines.paths.values():
        covering = [act for act in erasures if act.request.get("path") in {None, timeline.path}]
        yield from _check_path(timelines, timeline, covering)
        yield from _check_copies(timelines, timeline, erasures)
    if len(erasures) == 1 and erasures[0].request.get("path") is None:
        yield from _check_whole(timelines, erasures[0])
    yield from _check_trail(erasures, trail)
    yield from _check_shown(timelines, attempts, erasures)


def _check_path(
    timelines: ScopeTimelines, timeline: Timeline, erasures: Sequence[Act]
) -> Iterator[Violation]:
    """Blank rows come first, each for a reason; rows older than an erasure are all blank."""
    finished = [act for act in erasures if act.answer is not None]
    latest_start = max((act.began for act in finished), default=0)
    for index, row in enumerate(timeline.rows):
        where = f"{timeline.path}@{row.version}"
        maker = timelines.acts.get(maker_of(row.actor))
        if maker is None:
            continue
        if not row.redacted:
            if maker.ended < latest_start:
                yield Violation("erasure_missed", where, f"{row}")
            continue
        if timelines.is_copy_of_blank(timeline.path, row):
            continue
        if not any(act.ended >= maker.began for act in erasures):
            yield Violation("erasure_overreached", where, f"{row}")
        for older in timeline.rows[:index]:
            if not older.redacted:
                yield Violation("erasure_missed", where, f"{older} is older than {row}")
                return


def _check_copies(
    timelines: ScopeTimelines, timeline: Timeline, erasures: Sequence[Act]
) -> Iterator[Violation]:
    """What is copied from a blank row is blank; a rename may have come before the erasure."""
    for row in timeline.rows:
        if row.redacted or not timelines.is_copy_of_blank(timeline.path, row):
            continue
        if row.action == "deleted" or _was_erased_before(timelines, timeline, row, erasures):
            where = f"{timeline.path}@{row.version}"
            yield Violation("erasure_missed", where, f"{row} copies a blank one")


def _was_erased_before(
    timelines: ScopeTimelines,
    timeline: Timeline,
    row: MemoryVersion,
    erasures: Sequence[Act],
) -> bool:
    """Whether some erasure came after what the row copies and before the copying."""
    source = timelines.source_of(timeline.path, row)
    copier = timelines.acts.get(maker_of(row.actor))
    if source is None or copier is None:
        return False
    original = timelines.paths[source[0]].rows[source[1] - 1]
    writer = timelines.acts.get(maker_of(original.actor))
    return any(
        writer is not None
        and writer.ended < act.began
        and act.ended < copier.began
        and act.request.get("path") in {None, source[0]}
        for act in erasures
    )


def _check_whole(timelines: ScopeTimelines, erasure: Act) -> Iterator[Violation]:
    """One erasure of the whole scope happens at one instant for all its paths."""
    blanked = [
        timelines.acts[maker_of(row.actor)].began
        for timeline, row in timelines.rows()
        if row.redacted
        and not timelines.is_copy_of_blank(timeline.path, row)
        and maker_of(row.actor) in timelines.acts
    ]
    instant = max([*blanked, erasure.began] if erasure.answer else blanked, default=0)
    for timeline, row in timelines.rows():
        maker = timelines.acts.get(maker_of(row.actor))
        if maker and not row.redacted and maker.ended < instant:
            yield Violation("erasure_missed", f"{timeline.path}@{row.version}", f"{row}")


def _check_trail(erasures: Sequence[Act], trail: Sequence[MemoryRedaction]) -> Iterator[Violation]:
    recorded = Counter(maker_of(entry.actor) for entry in trail)
    counts = {maker_of(entry.actor): entry.count for entry in trail}
    for act in erasures:
        if recorded[act.name] > 1:
            yield Violation("applied_twice", act.name, f"{recorded[act.name]} entries of {act}")
        elif act.answer is not None and act.answer["count"] != counts.get(act.name, 0):
            yield Violation("erasure_unrecorded", act.name, f"{act}")


def _check_shown(
    timelines: ScopeTimelines, attempts: Sequence[Attempt], erasures: Sequence[Act]
) -> Iterator[Violation]:
    """No answer to a request made after the erasures shows what they blanked."""
    hidden_since = _hidden_since(timelines, erasures)
    for attempt in attempts:
        if not isinstance(attempt.outcome, Answered):
            continue
        for name in secrets_in(attempt.outcome.answer):
            if hidden_since.get(name, FOREVER) < attempt.began:
                yield Violation("content_shown", attempt.name, f"{attempt}")


def _hidden_since(timelines: ScopeTimelines, erasures: Sequence[Act]) -> dict[str, int]:
    """When each act's content was surely gone from every answer.

    Without renames a blank row tells that one of the erasures reaching it blanked it. A copy
    at another path outlives the erasure of its source, so with renames only an erasure of the
    whole scope counts, and only for acts that had ended before it.
    """
    whole = [act for act in erasures if act.request.get("path") is None]
    if any(act.route == "memory/rename" for act in timelines.acts.values()):
        return {
            name: min(act.ended for act in whole if writer.ended < act.began)
            for name, writer in timelines.acts.items()
            if any(writer.ended < act.began for act in whole)
        }
    return {
        maker_of(row.actor): max(
            (act.ended for act in erasures if act.request.get("path") in {None, timeline.path}),
            default=FOREVER,
        )
        for timeline, row in timelines.rows()
        if row.redacted and row.action != "deleted"
    }


def secrets_in(document: object) -> set[str]:
    """Name the acts whose secrets are anywhere in a JSON document."""
    return set(SECRET.findall(msgspec.json.encode(document).decode()))


def surviving_secrets(rows: Sequence[MemoryVersion]) -> set[str]:
    """Name the acts whose content stands in rows that no erasure reached."""
    return secrets_in([row.content for row in rows if not row.redacted])
