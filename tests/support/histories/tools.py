"""Whether a document holds the lines that calls of a tool put into it, each once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tests.support.histories.records import Answered, Attempt, Refused, Violation, gather_acts

INSERT = "tool/insert"
VIEW = "tool/view"


def check_lines(attempts: Sequence[Attempt], content: str) -> list[Violation]:
    """Judge one document into which each insert of the attempts put its own name as a line."""
    lines = Counter(filter(None, content.split("\n")))
    acts = gather_acts(attempts)
    inserts = [act for act in acts.values() if act.route == INSERT]
    violations = [
        Violation("line_of_nobody", line, f"{count} times")
        for line, count in lines.items()
        if line not in acts
    ]
    for act in inserts:
        if lines[act.name] > 1:
            violations.append(Violation("applied_twice", act.name, f"{lines[act.name]} lines"))
        elif act.answer is not None and not lines[act.name]:
            violations.append(Violation("acknowledged_missing", act.name, f"{act}"))
    refused = [act for act in acts.values() if isinstance(act.outcome, Refused)]
    violations += [Violation("call_refused", act.name, f"{act.outcome}") for act in refused]
    return [*violations, *_check_views(attempts)]


def _check_views(attempts: Iterable[Attempt]) -> Iterator[Violation]:
    """The attempts of one caller in their order: a view shows what was acknowledged before."""
    newest = None
    for attempt in attempts:
        if not isinstance(attempt.outcome, Answered):
            continue
        if attempt.route == INSERT:
            newest = attempt.name
        elif attempt.route == VIEW and newest and newest not in attempt.outcome.answer["text"]:
            yield Violation("stale_view", attempt.name, f"without {newest}")
