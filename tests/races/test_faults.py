"""Replicas and Postgres are killed, frozen and cut off under load; nothing acknowledged is lost.

Every client repeats what it got no answer to, under its key and at the other replica, until
it is told the outcome. So after a fault all is decided: each act took effect once, or was
refused and took none.
"""

import asyncio
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from commonhold.migrations.runner import migrate
from tests.races.conftest import TOKEN, Scaled, Summarise
from tests.support.histories.idempotency import check_keys
from tests.support.histories.records import Answered, Attempt, Unknown
from tests.support.load.crews import Crew, Task
from tests.support.load.replicas import Replica, probe, start_replicas
from tests.support.load.servers import CrashableServer, start_crashable, wait_until_served
from tests.support.load.stands import Stand, judge, run_apart
from tests.support.postgres import PostgresServer

CLIENTS = 16
UNITS = 4
RESPONSE_SECONDS = 3
RECOVERY_SECONDS = 15
# A request may wait for a connection, then in the queue of a row, then for the row's holder:
# two seconds each, and some for a busy machine.
CROWD_SECONDS = 3 * 2 + 2
HOLDER_SECONDS = 10
"""When Postgres ends a transaction whose owner is silent."""
STOPPED_SECONDS = HOLDER_SECONDS + 3

LOST = {"ConnectionResetError", "ConnectionRefusedError", "BrokenPipeError", "IncompleteReadError"}
UNAVAILABLE = {"status 503"}


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be broken, and the crew that works meanwhile."""

    server: CrashableServer
    replicas: tuple[Replica, ...]
    stand: Stand
    crew: Crew

    def begin(self, word: str, *, patience: float = 4) -> None:
        self.crew.start(
            self.stand.ports,
            [
                Task(
                    name=f"{word}c{client}",
                    program="work_on",
                    arguments={
                        "scope": f"race:{word}{client % UNITS}",
                        "paths": ["a", "a/b", "c"],
                        "conversation": f"{word}{client % UNITS}",
                        "seed": client,
                        "replica": client,
                    },
                    patience=patience,
                )
                for client in range(CLIENTS)
            ],
        )

    def end(self, word: str) -> list[Attempt]:
        """Stop the crew and require that the history is whole."""
        attempts = self.crew.stop()
        scopes = self.stand.scopes(f"race:{word}{unit}" for unit in range(UNITS))
        conversations = self.stand.conversations(f"{word}{unit}" for unit in range(UNITS))
        assert judge(attempts, scopes=scopes, conversations=conversations) == []
        assert check_keys(attempts) == []
        assert undecided(attempts) == set()
        return attempts

    def wait_until_answered(self) -> None:
        """Insist on an answer at each replica, then let the crew go on for a while."""
        for replica in self.replicas:
            alone = Stand(dsn=self.stand.dsn, token=TOKEN, ports=[replica.port])
            alone.tell([("memory/read", {"scope": "race:any", "path": "a"})], name="waiting")
        time.sleep(1)

    def probes(self) -> set[int | None]:
        """What the probes of liveness say: they ask nothing of the database."""
        return {
            probe(port, target)
            for replica in self.replicas
            for port, target in ((replica.port, "/health"), (replica.ops_port, "/livez"))
        }


def undecided(attempts: list[Attempt]) -> set[str]:
    last = {attempt.name: attempt.outcome for attempt in attempts}
    return {name for name, outcome in last.items() if isinstance(outcome, Unknown)}


def reasons(attempts: list[Attempt]) -> set[str]:
    return {one.outcome.why for one in attempts if isinstance(one.outcome, Unknown)}


def longest(attempts: list[Attempt]) -> float:
    return max(attempt.ended - attempt.began for attempt in attempts) / 1e9


def recovery(attempts: list[Attempt], healed: int) -> float:
    """Seconds from the end of a fault to the first answer to a request made after it."""
    ends = [
        one.ended for one in attempts if one.began > healed and isinstance(one.outcome, Answered)
    ]
    return round((min(ends) - healed) / 1e9, 3)


@pytest.fixture(scope="module")
def site(
    crew: Crew, postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """One for all faults: no replica is started again but those that a test kills."""
    folder: Path = tmp_path_factory.mktemp("site")
    with start_crashable(postgres_server.kind) as server:
        wait_until_served(server.dsn)
        run_apart(migrate(server.dsn))
        with start_replicas(server.dsn, token=TOKEN, logs=folder) as replicas:
            ports = [replica.port for replica in replicas]
            stand = Stand(dsn=server.dsn, token=TOKEN, ports=ports)
            yield Site(server=server, replicas=tuple(replicas), stand=stand, crew=crew)


def test_killed_replicas_lose_nothing(site: Site, scaled: Scaled, summarise: Summarise) -> None:
    site.begin("killed")
    for replica in site.replicas * scaled(2):
        time.sleep(0.7)
        replica.send(signal.SIGKILL)
        time.sleep(0.4)
        replica.start()
    time.sleep(0.3)
    attempts = site.end("killed")
    summarise(attempts, kills=scaled(2) * len(site.replicas))
    assert reasons(attempts) <= LOST | UNAVAILABLE
    assert reasons(attempts) & LOST


def test_a_stopped_replica_keeps_no_lock_for_ever_and_acts_once_when_it_wakes(
    site: Site, summarise: Summarise
) -> None:
    sleeper, other = site.replicas
    site.begin("stopped", patience=2)
    time.sleep(1)
    sleeper.send(signal.SIGSTOP)
    stopped = time.monotonic_ns()
    time.sleep(STOPPED_SECONDS)
    assert probe(other.port, "/health") == 200
    sleeper.send(signal.SIGCONT)
    woken = time.monotonic_ns()
    time.sleep(1)
    attempts = site.end("stopped")
    meanwhile = [one for one in attempts if stopped < one.began and one.ended < woken]
    freed = [one for one in meanwhile if one.began > stopped + (HOLDER_SECONDS + 0.5) * 1e9]
    summarise(
        attempts,
        units_served_meanwhile=len(units_served(meanwhile)),
        units_served_once_freed=len(units_served(freed)),
    )
    assert reasons(attempts) <= LOST | UNAVAILABLE | {"TimeoutError"}
    assert len(units_served(freed)) == 2 * UNITS


def units_served(attempts: list[Attempt]) -> set[str]:
    return {
        str(one.request.get("scope") or one.request.get("conversation_id"))
        for one in attempts
        if isinstance(one.outcome, Answered)
    }


def test_a_crash_of_postgres_loses_nothing_and_needs_no_restart(
    site: Site, scaled: Scaled, summarise: Summarise
) -> None:
    site.begin("crashed")
    healed = 0
    for _ in range(scaled(3)):
        site.wait_until_answered()
        site.server.crash()
        time.sleep(0.5)
        assert site.probes() == {200}
        site.server.start()
        healed = time.monotonic_ns()
    site.wait_until_answered()
    attempts = site.end("crashed")
    summarise(
        attempts,
        crashes=scaled(3),
        recovery_seconds=recovery(attempts, healed),
        longest_seconds=round(longest(attempts), 3),
    )
    assert reasons(attempts) == UNAVAILABLE
    assert longest(attempts) < RESPONSE_SECONDS


def test_cut_connections_lose_nothing(site: Site, scaled: Scaled, summarise: Summarise) -> None:
    site.begin("cut")
    cuts = run_apart(cut_connections(site.stand.dsn, scaled(25)))
    attempts = site.end("cut")
    summarise(attempts, cuts=cuts, longest_seconds=round(longest(attempts), 3))
    assert cuts > 25
    assert reasons(attempts) == UNAVAILABLE
    assert longest(attempts) < RESPONSE_SECONDS


async def cut_connections(dsn: str, times: int) -> int:
    connection = await asyncpg.connect(dsn)
    cuts = 0
    for _ in range(times):
        await connection.execute("SELECT pg_sleep(0.1)")
        cuts += await connection.fetchval(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    await connection.close()
    return cuts


def test_a_frozen_postgres_is_answered_for_in_time_and_recovered_from(
    site: Site, summarise: Summarise
) -> None:
    site.begin("frozen")
    time.sleep(1)
    site.server.freeze()
    frozen = time.monotonic_ns()
    time.sleep(4)
    assert site.probes() == {200}
    site.server.thaw()
    healed = time.monotonic_ns()
    site.wait_until_answered()
    attempts = site.end("frozen")
    felt = [one for one in attempts if one.ended > frozen and one.began < healed]
    summarise(
        attempts,
        recovery_seconds=recovery(attempts, healed),
        longest_seconds=round(longest(felt), 3),
    )
    assert reasons(attempts) == UNAVAILABLE
    assert longest(felt) < RESPONSE_SECONDS
    assert recovery(attempts, healed) < RECOVERY_SECONDS


def test_an_exhausted_pool_is_answered_for_in_time(site: Site, summarise: Summarise) -> None:
    scope = "race:exhausted"
    path = {"scope": scope, "path": "a"}
    first = site.stand.tell([("memory/write", {**path, "content": "0"})], name="exhaustedfirst")
    attempts = first + run_apart(crowd_before_a_lock(site.stand, path))
    crowd = attempts[1:]
    after = site.stand.tell([("memory/write", {**path, "content": "1"})], name="exhaustedlast")
    summarise(attempts + after, longest_seconds=round(longest(crowd), 3))
    assert reasons(crowd) == UNAVAILABLE
    assert {type(one.outcome) for one in crowd} == {Unknown}
    assert longest(crowd) < CROWD_SECONDS
    assert judge(attempts + after, scopes=site.stand.scopes([scope])) == []


async def crowd_before_a_lock(stand: Stand, path: dict[str, Any]) -> list[Attempt]:
    """Hold the head of a document, so that its writers take every connection of the pools."""
    holder = await asyncpg.connect(stand.dsn)
    async with holder.transaction():
        await holder.execute(
            "SELECT 1 FROM commonhold.documents WHERE scope = $1 FOR UPDATE", path["scope"]
        )
        attempts = await gather_calls(stand, path, count=60)
    await holder.close()
    return attempts


async def gather_calls(stand: Stand, path: dict[str, Any], *, count: int) -> list[Attempt]:
    clients = [stand.client(f"exhausted{number}") for number in range(count)]
    for number, client in enumerate(clients):
        client.patience_seconds = 2 * CROWD_SECONDS
        client.prefer(number)
    async with asyncio.TaskGroup() as group:
        calls = [
            group.create_task(client.call("memory/write", {**path, "content": "x"}))
            for client in clients
        ]
    for client in clients:
        client.close()
    return [call.result() for call in calls]
