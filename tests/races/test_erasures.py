"""Two thousand small races of an erasure with whatever may slip past it: nothing may.

After each race the ledger is judged row by row; then every column of every table of the
database is searched for what the erased rows said; then everything is erased in peace, and
the database searched again.
"""

import re
from collections.abc import Callable, Sequence

import pytest

from tests.races.conftest import Scaled, Summarise
from tests.support.histories.erasures import secret_of, secrets_in, surviving_secrets
from tests.support.histories.records import Attempt, Unknown, Violation
from tests.support.load.crews import Crew
from tests.support.load.programs import turn_of
from tests.support.load.stands import Stand, judge, run_apart
from tests.support.load.trials import Trial, count_overlaps, schedule
from tests.support.postgres import execute

ERASURE_RULES = {"erasure_missed", "content_shown"}

PLACES = (
    ("documents", "content", "scope"),
    ("document_versions", "content", "scope"),
    ("turns", "messages", "conversation_id"),
    ("turns", "search_text", "conversation_id"),
    ("projections", "text", "conversation_id"),
    ("idempotency", "answer", "scope"),
)


def write_against_scope(number: int, unit: str) -> Trial:
    """Every other trial races on a path that exists, the others on a path's first write."""
    named = Trial(unit=unit).name_of
    first = [write(unit, "a", named(0))] if number % 2 else [write(unit, "z", named(0))]
    return Trial(
        unit=unit,
        first=first,
        racing=[write(unit, "a", named(1)), ("memory/redact", {"scope": unit})],
        keyed=number % 4 < 2,
    )


def write_against_path(number: int, unit: str) -> Trial:
    named = Trial(unit=unit).name_of
    return Trial(
        unit=unit,
        first=[write(unit, "a", named(0))] if number % 3 else [],
        racing=[
            write(unit, "a", named(1 if number % 3 else 0)),
            ("memory/redact", {"scope": unit, "path": "a"}),
        ],
        keyed=number % 4 < 2,
    )


def delete_against_redact(number: int, unit: str) -> Trial:
    """A deletion copies the content of the live document into its row."""
    path = {"path": "a"} if number % 2 else {}
    return Trial(
        unit=unit,
        first=[write(unit, "a", Trial(unit=unit).name_of(0))],
        racing=[
            ("memory/delete", {"scope": unit, "path": "a"}),
            ("memory/redact", {"scope": unit, **path}),
        ],
        keyed=number % 4 < 2,
    )


def rename_against_redact(number: int, unit: str) -> Trial:
    """A rename copies it into two rows and another document."""
    target = ({}, {"path": "a"}, {"path": "b"})[number % 3]
    return Trial(
        unit=unit,
        first=[write(unit, "a", Trial(unit=unit).name_of(0))],
        racing=[
            ("memory/rename", {"scope": unit, "src": "a", "dst": "b"}),
            ("memory/redact", {"scope": unit, **target}),
        ],
        keyed=number % 4 < 2,
    )


def three_against_scope(number: int, unit: str) -> Trial:
    """Two writers, of an old and a new path, against one erasure of the scope."""
    named = Trial(unit=unit).name_of
    return Trial(
        unit=unit,
        first=[write(unit, "a", named(0))],
        racing=[
            write(unit, "a", named(1)),
            write(unit, "b", named(2)),
            ("memory/redact", {"scope": unit}),
        ],
        keyed=number % 2 == 0,
    )


def append_against_redact(number: int, unit: str) -> Trial:
    named = Trial(unit=unit).name_of
    first = [("conversation/append_turn", turn_of(unit, named(0)))] if number % 3 else []
    return Trial(
        unit=unit,
        first=first,
        racing=[
            ("conversation/append_turn", turn_of(unit, named(len(first)))),
            ("conversation/redact_turns", {"conversation_id": unit}),
        ],
        keyed=number % 4 < 2,
    )


def project_against_redact(number: int, unit: str) -> Trial:
    """What is derived from a turn goes with it, also when it is recorded at that moment."""
    named = Trial(unit=unit).name_of
    return Trial(
        unit=unit,
        first=[("conversation/append_turn", turn_of(unit, named(0))), project(unit, named(1))],
        racing=[
            project(unit, named(2)),
            ("conversation/redact_turns", {"conversation_id": unit, "turns": [1]}),
        ],
        keyed=number % 4 < 2,
    )


def write(scope: str, path: str, name: str) -> tuple[str, dict[str, object]]:
    return "memory/write", {"scope": scope, "path": path, "content": f"{secret_of(name)} text"}


def project(conversation: str, name: str) -> tuple[str, dict[str, object]]:
    entries = [
        {"turn": 1, "kind": kind, "text": f"{secret_of(name)} {kind}"} for kind in ("log", "digest")
    ]
    return "conversation/append_projections", {"conversation_id": conversation, "entries": entries}


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (write_against_scope, 500),
        (write_against_path, 300),
        (delete_against_redact, 200),
        (rename_against_redact, 300),
        (three_against_scope, 100),
    ],
)
def test_nothing_of_a_document_outlives_its_erasure(
    crew: Crew,
    stand: Stand,
    scaled: Scaled,
    summarise: Summarise,
    make: Callable[[int, str], Trial],
    count: int,
) -> None:
    word = make.__name__.replace("_", "")
    trials = [make(number, f"race:{word}{number}") for number in range(scaled(count))]
    attempts = crew.run(stand.ports, schedule(trials, seed=count))
    overlapping = count_overlaps(trials, attempts)
    attempts += replay(stand, attempts)
    states = stand.scopes(trial.unit for trial in trials)
    violations = judge(attempts, scopes=states)
    survivors = {name for state in states for name in surviving_secrets(state.versions)}
    leaks = remains(stand, word, survivors)
    units = [("memory/redact", {"scope": trial.unit}) for trial in trials]
    stand.tell(units, name=f"{word}end")
    summarise(
        attempts,
        trials=len(trials),
        overlapping=overlapping,
        survivors=len(survivors),
        violations=len(violations),
        leaks=len(leaks) + count_erasure_violations(violations),
    )
    assert [one for one in attempts if isinstance(one.outcome, Unknown)] == []
    assert violations == []
    assert leaks == {}
    assert remains(stand, word, set()) == {}
    # Races that do not meet would prove nothing.
    assert overlapping > len(trials) / 2


@pytest.mark.parametrize(
    ("make", "count"), [(append_against_redact, 300), (project_against_redact, 300)]
)
def test_nothing_of_a_turn_outlives_its_erasure(
    crew: Crew,
    stand: Stand,
    scaled: Scaled,
    summarise: Summarise,
    make: Callable[[int, str], Trial],
    count: int,
) -> None:
    word = make.__name__.replace("_", "")
    trials = [make(number, f"{word}{number}") for number in range(scaled(count))]
    attempts = crew.run(stand.ports, schedule(trials, seed=count))
    overlapping = count_overlaps(trials, attempts)
    attempts += replay(stand, attempts)
    searches = [
        ("conversation/search_turns", {"query": "secret", "conversations": [trial.unit]})
        for trial in trials
    ]
    found = stand.tell(searches, name=f"{word}search")
    states = stand.conversations(trial.unit for trial in trials)
    violations = judge(attempts, conversations=states)
    survivors = secrets_in([[state.turns, state.projections] for state in states])
    leaks = remains(stand, word, survivors)
    units = [("conversation/redact_turns", {"conversation_id": trial.unit}) for trial in trials]
    stand.tell(units, name=f"{word}end")
    summarise(
        attempts,
        trials=len(trials),
        overlapping=overlapping,
        survivors=len(survivors),
        violations=len(violations),
        leaks=len(leaks) + count_erasure_violations(violations),
    )
    assert [one for one in attempts if isinstance(one.outcome, Unknown)] == []
    assert violations == []
    assert leaks == {}
    assert secrets_in([attempt.outcome for attempt in found]) <= survivors
    assert remains(stand, word, set()) == {}
    assert overlapping > len(trials) / 2


@pytest.mark.parametrize(("table", "column", "owner"), PLACES)
def test_the_search_of_the_database_finds_a_secret_wherever_it_is_kept(
    stand: Stand, table: str, column: str, owner: str
) -> None:
    word = f"planted{table}{column}".replace("_", "")
    units = {"scope": f"race:{word}", "conversation_id": word}
    run_apart(fill_every_table(stand, word))
    text = f'"{secret_of(f"{word}1x1")}"'
    plant = f"UPDATE commonhold.{table} SET {column} = '{text}' WHERE {owner} = '{units[owner]}'"
    run_apart(execute(stand.dsn, plant))
    assert remains(stand, word, set()) == {f"{word}1x1": {f"{table}.{column}"}}


async def fill_every_table(stand: Stand, word: str) -> None:
    """Leave a row of everything, with nothing secret in it."""
    client = stand.client(word)
    scope, conversation = {"scope": f"race:{word}"}, {"conversation_id": word}
    entries = [{"turn": 1, "kind": "log", "text": "plain"}]
    turn = {**conversation, "messages": [{"role": "user", "content": "plain"}]}
    await client.insist("memory/write", {**scope, "path": "a", "content": "plain"})
    await client.insist("conversation/append_turn", turn)
    await client.insist("conversation/append_projections", {**conversation, "entries": entries})
    client.close()


def count_erasure_violations(violations: Sequence[Violation]) -> int:
    return sum(violation.rule in ERASURE_RULES for violation in violations)


def replay(stand: Stand, attempts: Sequence[Attempt]) -> list[Attempt]:
    """Ask again, under its key, for what each keyed racer got: it must not bring content back."""
    keyed = [one for one in attempts if one.key is not None and "redact" not in one.route]
    return stand.repeat(keyed)


def remains(stand: Stand, word: str, survivors: set[str]) -> dict[str, set[str]]:
    """What the database still holds of these trials that is in no row left whole."""
    ours = re.compile(rf"{word}\d+x\d+")
    return {
        name: places
        for name, places in stand.secrets().items()
        if ours.fullmatch(name) and name not in survivors
    }
