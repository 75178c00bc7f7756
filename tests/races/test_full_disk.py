"""The database's disk fills up: writes are refused for a while, and nothing has to be restarted."""

import secrets
from collections.abc import Iterator

import msgspec
import pytest
from testcontainers.community.postgres import PostgresContainer

from commonhold.migrations.runner import migrate
from tests.races.conftest import TOKEN, Summarise
from tests.support.engine import owner_labels
from tests.support.histories.records import Answered, Attempt, Unknown
from tests.support.load.replicas import probe, start_replicas
from tests.support.load.servers import wait_until_served
from tests.support.load.stands import Stand, judge, run_apart
from tests.support.ports import free_port
from tests.support.postgres import IMAGE, execute, with_database

pytestmark = [pytest.mark.docker, pytest.mark.race]

SPACE = "/small"
BALLAST = f"{SPACE}/ballast"
SCOPE = "race:full"


class SmallDisk(msgspec.Struct, frozen=True, kw_only=True):
    """A database whose tables, but not its log, lie on a small file system."""

    dsn: str
    container: PostgresContainer

    def free(self) -> None:
        run(self.container, "rm", BALLAST)


def run(container: PostgresContainer, *command: str) -> None:
    done = container.exec(list(command))
    assert done.exit_code == 0, done.output


@pytest.fixture
def small_disk() -> Iterator[SmallDisk]:
    container = (
        PostgresContainer(
            IMAGE,
            username="postgres",
            password=secrets.token_hex(16),
            dbname="postgres",
            driver=None,
        )
        .with_kwargs(labels=owner_labels())
        .with_tmpfs_mount(SPACE, "size=40m")
    )
    container.ports["5432/tcp"] = ("127.0.0.1", free_port())  # type: ignore[assignment]  # the engine takes a pair
    with container:
        server = container.get_connection_url()
        wait_until_served(server)
        run(container, "mkdir", f"{SPACE}/tables")
        run(container, "chown", "postgres", f"{SPACE}/tables")
        run(container, "dd", "if=/dev/zero", f"of={BALLAST}", "bs=1M", "count=8")
        tablespace = f"CREATE TABLESPACE small LOCATION '{SPACE}/tables'"
        database = "CREATE DATABASE tight TABLESPACE small"
        run_apart(execute(server, tablespace, database))
        dsn = with_database(server, "tight")
        run_apart(migrate(dsn))
        yield SmallDisk(dsn=dsn, container=container)


def test_a_full_disk_is_answered_for_and_writes_go_on_when_it_is_not(
    small_disk: SmallDisk, tmp_path_factory: pytest.TempPathFactory, summarise: Summarise
) -> None:
    logs = tmp_path_factory.mktemp("full")
    with start_replicas(small_disk.dsn, token=TOKEN, logs=logs, count=1) as replicas:
        (replica,) = replicas
        stand = Stand(dsn=small_disk.dsn, token=TOKEN, ports=[replica.port])
        attempts = run_apart(write_until_full(stand))
        health = {probe(replica.port, "/health"), probe(replica.ops_port, "/livez")}
        read = stand.tell([("memory/read", {"scope": SCOPE, "path": "a"})], name="fullread")
        small_disk.free()
        attempts += stand.tell([writing("after")], name="fullafter")
        states = stand.scopes([SCOPE])
    summarise(attempts, rows=len(states[0].versions))
    assert attempts[-2].outcome == Unknown(why="status 503")
    assert health == {200}
    assert isinstance(read[0].outcome, Answered)
    assert judge(attempts, scopes=states) == []
    # The refused write left nothing: the next one has the number after the last answered.
    assert len(states[0].versions) == len(attempts) - 1


def writing(content: str) -> tuple[str, dict[str, str]]:
    return "memory/write", {"scope": SCOPE, "path": "a", "content": content}


async def write_until_full(stand: Stand) -> list[Attempt]:
    """Overwrite one document with a megabyte that does not compress, until it does not work."""
    client = stand.client("full")
    while not client.attempts or isinstance(client.attempts[-1].outcome, Answered):
        route, request = writing(secrets.token_urlsafe(750_000))
        await client.call(route, request)
        assert len(client.attempts) < 100
    client.close()
    return client.attempts
