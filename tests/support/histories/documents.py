"""Whether the ledger of a scope is one that the recorded acts can have made.

Every rule yields violations of its own name; a run that broke nothing yields none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from commonhold.contract.documents import ScopeArchive
from tests.support.histories.erasures import check_document_erasures
from tests.support.histories.observers import observe
from tests.support.histories.ordering import first_inversion, is_serializable, misplaced
from tests.support.histories.records import Act, Answered, Attempt, Violation, gather_acts
from tests.support.histories.timelines import ScopeTimelines, Timeline, lay_out, maker_of

ROWS_OF = {"memory/write": 1, "memory/delete": 1, "memory/rename": 2}


def check_scope(attempts: Iterable[Attempt], state: ScopeArchive) -> list[Violation]:
    """Judge one scope that was empty before the first attempt."""
    within = [one for one in attempts if one.request.get("scope") == state.scope]
    timelines = lay_out(gather_acts(within), state)
    return [
        *_check_numbers(timelines),
        *_check_heads(timelines),
        *_check_makers(timelines),
        *_check_effects(timelines),
        *_check_contents(timelines),
        *_check_answers(timelines, within),
        *_check_order(timelines),
        *_check_observers(timelines, within),
        *check_document_erasures(timelines, within, trail=state.redactions),
    ]


def _check_numbers(timelines: ScopeTimelines) -> Iterator[Violation]:
    for path, timeline in timelines.paths.items():
        numbers = [row.version for row in timeline.rows]
        if len(set(numbers)) < len(numbers):
            yield Violation("number_reused", path, f"{numbers}")
        elif numbers != list(range(1, len(numbers) + 1)):
            yield Violation("number_gap", path, f"{numbers}")
        live = False
        for row in timeline.rows:
            if row.action == ("created" if live else "modified") or (
                row.action == "deleted" and not live
            ):
                yield Violation("illegal_action", path, f"{row.action} at {row.version}")
            live = row.action != "deleted"
        for before, after in zip(timeline.rows, timeline.rows[1:], strict=False):
            if after.created_at < before.created_at:
                yield Violation("stamp_backwards", path, f"{before} before {after}")


def _check_heads(timelines: ScopeTimelines) -> Iterator[Violation]:
    for path, timeline in timelines.paths.items():
        head = timeline.live
        if not timeline.rows or timeline.rows[-1].action == "deleted":
            if head is not None:
                yield Violation("head_disagrees", path, f"live without a row: {head}")
            continue
        newest = timeline.rows[-1]
        wanted = (newest.version, newest.content, newest.actor, newest.redacted, newest.created_at)
        found = head and (
            *(head.version, head.content, head.actor, head.redacted),
            head.updated_at,
        )
        if found != wanted:
            yield Violation("head_disagrees", path, f"{found} beside {wanted}")
        elif head and head.created_at != _born(timeline, newest.version):
            yield Violation("head_disagrees", path, f"created_at of {head}")


def _born(timeline: Timeline, version: int) -> object:
    """When the life that the version belongs to began."""
    births = [row for row in timeline.rows[:version] if row.action == "created"]
    return births[-1].created_at if births else None


def _check_makers(timelines: ScopeTimelines) -> Iterator[Violation]:
    for timeline, row in timelines.rows():
        act = timelines.acts.get(maker_of(row.actor))
        where = f"{timeline.path}@{row.version}"
        if act is None:
            yield Violation("row_of_nobody", where, f"{row}")
        elif not act.may_have_happened:
            yield Violation("refused_left_effect", where, f"{act}")


def _check_effects(timelines: ScopeTimelines) -> Iterator[Violation]:
    made = Counter(name for timeline in timelines.paths.values() for name in timeline.makers)
    for act in timelines.acts.values():
        if act.route not in ROWS_OF:
            continue
        rows = made[act.name]
        wanted = ROWS_OF[act.route]
        if rows > wanted:
            yield Violation("applied_twice", act.name, f"{rows} rows of {act}")
        elif act.answer == {"deleted": False}:
            if rows:
                yield Violation("refused_left_effect", act.name, f"{act}")
        elif act.answer is not None and rows == 0:
            yield Violation("acknowledged_missing", act.name, f"{act}")
        elif 0 < rows < wanted:
            yield Violation("rename_torn", act.name, f"{rows} rows of {act}")
        if act.route == "memory/rename" and rows == wanted:
            yield from _check_pair(timelines, act)


def _check_pair(timelines: ScopeTimelines, act: Act) -> Iterator[Violation]:
    """A rename deletes its source and creates its destination at one instant."""
    pairs = (("src", "deleted"), ("dst", "created"))
    rows = [
        row
        for key, action in pairs
        for row in timelines.paths[act.request[key]].rows
        if maker_of(row.actor) == act.name and row.action == action
    ]
    if len(rows) != len(pairs) or rows[0].created_at != rows[1].created_at:
        yield Violation("rename_torn", act.name, f"{rows}")


def _check_contents(timelines: ScopeTimelines) -> Iterator[Violation]:
    for timeline, row in timelines.rows():
        wanted = "" if row.redacted else timelines.original_content(timeline.path, row)
        if wanted is not None and row.content != wanted:
            where = f"{timeline.path}@{row.version}"
            yield Violation("content_altered", where, f"{row.content!r}, not {wanted!r}")


def _check_answers(timelines: ScopeTimelines, attempts: Sequence[Attempt]) -> Iterator[Violation]:
    """An answer names the row that the act made, also when it was given again under its key."""
    for attempt in attempts:
        if not isinstance(attempt.outcome, Answered) or attempt.route not in {
            "memory/write",
            "memory/rename",
        }:
            continue
        document = attempt.outcome.answer["document"]
        timeline = timelines.paths[attempt.request.get("dst") or attempt.request["path"]]
        version = document["version"]
        if not timeline.is_live(version) or timeline.makers[version - 1] != attempt.name:
            yield Violation("answer_disagrees", attempt.name, f"{document}")
            continue
        original = timelines.original_content(timeline.path, timeline.rows[version - 1])
        if not document["redacted"] and document["content"] != original:
            yield Violation("answer_disagrees", attempt.name, f"{document}, not {original!r}")
        expected = attempt.request.get("expected_version")
        if expected is not None and (expected != version - 1 or not timeline.is_live(expected)):
            yield Violation("lost_update", attempt.name, f"{version} was made over {expected}")


def _check_order(timelines: ScopeTimelines) -> Iterator[Violation]:
    sequences = []
    for path, timeline in timelines.paths.items():
        makers = [name for name in timeline.makers if name in timelines.acts]
        acts = [timelines.acts[name] for name in makers]
        if (inversion := first_inversion(acts)) is not None:
            later, earlier = (acts[index] for index in inversion)
            yield Violation("order_inverted", path, f"{earlier} ended before {later} began")
            return
        sequences.append(makers)
    makers_of_all = {name: timelines.acts[name] for names in sequences for name in names}
    if knot := is_serializable(makers_of_all, sequences):
        yield Violation("not_serializable", "scope", f"{knot[:6]}")


def _check_observers(timelines: ScopeTimelines, attempts: Sequence[Attempt]) -> Iterator[Violation]:
    observers = observe(timelines, attempts)
    for path, timeline in timelines.paths.items():
        makers = [timelines.acts[name] for name in timeline.makers if name in timelines.acts]
        for lost in misplaced(makers, observers.get(path, [])):
            yield Violation("impossible_observation", path, lost.what)
