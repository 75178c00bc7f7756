"""Two replicas on one Postgres and the processes that race on them, shared by all races.

RACE_SCALE multiplies the length of every run: 1 is what `make test` takes, 20 is a night.
"""

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.support.histories.records import Attempt
from tests.support.load.crews import Crew, assemble_crew
from tests.support.load.replicas import start_replicas
from tests.support.load.stands import Stand, run_apart
from tests.support.load.summaries import count_outcomes, keep, render
from tests.support.postgres import PostgresServer, execute, with_database

SCALE = float(os.environ.get("RACE_SCALE", "1"))
TOKEN = "race-token"
PROCESSES = 4

LINES = pytest.StashKey[list[str]]()

Scaled = Callable[[int], int]
Summarise = Callable[..., None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "crew" in getattr(item, "fixturenames", ()):
            item.add_marker("race")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for line in config.stash.get(LINES, []):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def crew() -> Iterator[Crew]:
    with assemble_crew(processes=PROCESSES, token=TOKEN) as crew:
        yield crew


@pytest.fixture(scope="session")
def race_dsn(postgres_server: PostgresServer, database_template: str) -> Iterator[str]:
    """One database for all races: each uses scopes and conversations of its own."""
    name = f"commonhold_races_{secrets.token_hex(8)}"
    run_apart(
        execute(postgres_server.dsn, f'CREATE DATABASE "{name}" TEMPLATE "{database_template}"')
    )
    yield with_database(postgres_server.dsn, name)
    run_apart(execute(postgres_server.dsn, f'DROP DATABASE "{name}" WITH (FORCE)'))


@pytest.fixture(scope="session")
def stand(race_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    logs = tmp_path_factory.mktemp("replicas")
    with start_replicas(race_dsn, token=TOKEN, logs=logs) as replicas:
        yield Stand(dsn=race_dsn, token=TOKEN, ports=[replica.port for replica in replicas])


@pytest.fixture
def scaled() -> Scaled:
    return lambda number: max(1, round(number * SCALE))


@pytest.fixture
def summarise(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Summarise:
    """Keep the numbers of a run, and print them when all tests are done."""

    def note(attempts: Sequence[Attempt], **numbers: Any) -> None:
        whole = {**numbers, **count_outcomes(attempts)}
        name = request.node.name.removeprefix("test_")
        keep(name, whole)
        record_property("race", whole)
        request.config.stash.setdefault(LINES, []).append(render(name, whole))

    return note
