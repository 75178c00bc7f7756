"""What answers and refusals say about the state they saw, path by path."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tests.support.histories.ordering import Observer
from tests.support.histories.records import Answered, Attempt, Refused, sight_of
from tests.support.histories.timelines import ScopeTimelines, Timeline

NOWHERE: tuple[int, ...] = ()


def observe(timelines: ScopeTimelines, attempts: Iterable[Attempt]) -> dict[str, list[Observer]]:
    """Collect who saw what of each path, as the states at which they may have looked."""
    observers: dict[str, list[Observer]] = defaultdict(list)
    for attempt in attempts:
        began, ended = sight_of(attempt, timelines.acts[attempt.name])
        for path, places in _sightings(timelines, attempt):
            observers[path].append(
                Observer(began=began, ended=ended, places=places, what=f"{attempt}")
            )
    return observers


def _sightings(timelines: ScopeTimelines, attempt: Attempt) -> Iterator[tuple[str, Sequence[int]]]:
    match attempt.outcome:
        case Answered(answer=answer):
            yield from _seen_by_answer(timelines, attempt, answer)
        case Refused(code="memory_conflict", details=details):
            yield from _seen_by_conflict(timelines, attempt, details)
        case Refused(code="memory_document_not_found"):
            source = timelines.paths[attempt.request["src"]]
            yield source.path, source.states(live=False)
        case Refused():
            # No other refusal can come of requests that are well formed.
            yield next(iter(timelines.paths)), NOWHERE


def _seen_by_answer(
    timelines: ScopeTimelines, attempt: Attempt, answer: dict[str, Any]
) -> Iterator[tuple[str, Sequence[int]]]:
    match attempt.route:
        case "memory/read":
            timeline = timelines.paths[attempt.request["path"]]
            yield timeline.path, _places_of(timelines, timeline, answer["document"])
        case "memory/delete" if not answer["deleted"]:
            timeline = timelines.paths[attempt.request["path"]]
            yield timeline.path, timeline.states(live=False)
        case "memory/versions":
            timeline = timelines.paths[attempt.request["path"]]
            newest = answer["versions"][0]["version"] if answer["versions"] else 0
            yield timeline.path, [newest] if newest <= len(timeline.rows) else NOWHERE
        case "memory/list_documents" if answer["next_cursor"] is None:
            listed = {entry["path"]: entry for entry in answer["entries"]}
            for path, timeline in timelines.paths.items():
                yield path, _places_of(timelines, timeline, listed.get(path))
        case "memory/redact" if attempt.request.get("path") is not None:
            timeline = timelines.paths[attempt.request["path"]]
            states = range(1, len(timeline.rows) + 1) if answer["count"] else [0]
            yield timeline.path, states


def _places_of(
    timelines: ScopeTimelines, timeline: Timeline, seen: dict[str, Any] | None
) -> Sequence[int]:
    """Where a document can have been seen as it was; nowhere when it never was so."""
    if seen is None:
        return timeline.states(live=False)
    version = seen["version"]
    if not timeline.is_live(version):
        return NOWHERE
    row = timeline.rows[version - 1]
    if seen["redacted"] and not row.redacted:
        return NOWHERE
    content = seen.get("content")
    if content is None:
        return [version]
    blank = content == "" and seen["redacted"]
    whole = content == timelines.original_content(timeline.path, row) and not seen["redacted"]
    return [version] if blank or whole else NOWHERE


def _seen_by_conflict(
    timelines: ScopeTimelines, attempt: Attempt, details: dict[str, Any]
) -> Iterator[tuple[str, Sequence[int]]]:
    if details["reason"] == "target_occupied":
        return
    timeline = timelines.paths[details["path"]]
    match details["reason"]:
        case "version_mismatch":
            actual = details["actual_version"]
            told = actual != attempt.request.get("expected_version") and timeline.is_live(actual)
            yield timeline.path, [actual] if told else NOWHERE
        case "document_absent":
            yield timeline.path, timeline.states(live=False)
        case "destination_exists":
            yield timeline.path, timeline.states(live=True)
            source = timelines.paths[attempt.request["src"]]
            yield source.path, source.states(live=True)
