"""Two services share one directory: processes contend for its lock; a checker reads the history."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.races.conftest import TOKEN, Scaled, Summarise
from tests.support.histories.records import Unknown
from tests.support.load.crews import Crew, Task
from tests.support.load.replicas import start_replicas
from tests.support.load.stands import Stand, judge
from tests.support.repository import ROOT
from tests.support.roots import temporary_root

CLIENTS = 4
SCOPES = ("race:one", "race:two")


@pytest.fixture(scope="module")
def shared_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    with temporary_root() as root:
        root.mkdir()
        settings = {"COMMONHOLD_ROOT": str(root)}
        logs = tmp_path_factory.mktemp("replicas")
        with start_replicas("", token=TOKEN, logs=logs, settings=settings) as replicas:
            yield Stand(dsn="", token=TOKEN, ports=[replica.port for replica in replicas])


def test_storms_over_a_shared_directory_leave_a_legal_ledger(
    crew: Crew, shared_root: Stand, scaled: Scaled, summarise: Summarise
) -> None:
    attempts = crew.run(
        shared_root.ports,
        [
            Task(
                name=f"{scope[5:]}c{client}",
                program="storm",
                arguments={
                    "scope": scope,
                    "paths": ["a", "a/b", "c"],
                    "seed": client,
                    "count": scaled(60),
                    "redacts": True,
                },
            )
            for scope in SCOPES
            for client in range(CLIENTS)
        ],
    )
    states = shared_root.scopes(SCOPES)
    summarise(attempts, clients=CLIENTS, rows=sum(len(state.versions) for state in states))
    assert [one for one in attempts if isinstance(one.outcome, Unknown)] == []
    assert judge(attempts, scopes=states) == []


def test_appends_to_a_shared_directory_are_gapless(
    crew: Crew, shared_root: Stand, scaled: Scaled, summarise: Summarise
) -> None:
    arguments = {"conversation": "race-files", "count": scaled(40)}
    attempts = crew.run(
        shared_root.ports,
        [
            Task(name=f"files{client}", program="append", arguments=arguments)
            for client in range(CLIENTS)
        ],
    )
    states = shared_root.conversations(["race-files"])
    summarise(attempts, clients=CLIENTS, turns=len(states[0].turns))
    assert len(states[0].turns) == CLIENTS * scaled(40)
    assert judge(attempts, conversations=states) == []


@pytest.mark.race
def test_thousands_of_kills_in_the_middle_of_changes_leave_each_whole_or_not_made(
    scaled: Scaled,
) -> None:
    with temporary_root() as root:
        where, rounds = str(root.parent), str(scaled(7))
        command = [sys.executable, "-m", "tests.support.file_kills", where, rounds]
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kills, ended_recoveries = map(int, done.stdout.split())
    assert kills >= scaled(2000)
    assert ended_recoveries > 500
