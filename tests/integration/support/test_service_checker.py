"""The checker of deployments against one: it sees faults and mends, and nothing where none is."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from tests.support.load.replicas import GATEWAY, Replica, start_replicas
from tests.support.service_checker import Doors, checking

TOKEN = "s3cret"
MOUNTS = {"COMMONHOLD_GATEWAY_MOUNTS": "scope=user:me,path=user"}


@contextmanager
def deployed(dsn: str, logs: Path) -> Iterator[tuple[Replica, Replica]]:
    with (
        start_replicas(dsn, token=TOKEN, logs=logs, count=1) as (state,),
        start_replicas(dsn, token=TOKEN, logs=logs, count=1, settings=MOUNTS, service=GATEWAY) as (
            gateway,
        ),
    ):
        yield state, gateway


def doors(state: Replica, gateway: Replica) -> Doors:
    return Doors(state_port=state.port, gateway_port=gateway.port, token=TOKEN)


async def test_kills_are_lived_through_and_what_is_lost_is_found(
    database_dsn: str, tmp_path: Path
) -> None:
    with deployed(database_dsn, tmp_path) as (state, gateway):
        with checking(doors(state, gateway)) as checker:
            checker.wait_for(3)
            for replica in (state, gateway):
                replica.send(signal.SIGKILL)
                replica.start()
                checker.wait_for(3)
        assert any(act.retries for act in checker.acts)
        assert checker.violations() == []

        connection = await asyncpg.connect(database_dsn)
        await connection.execute(
            "UPDATE commonhold.documents SET content = '' WHERE scope = 'user:me'"
        )
        await connection.execute("DELETE FROM commonhold.turns WHERE turn = 1")
        await connection.close()
        assert {found.rule for found in checker.violations()} >= {"acknowledged_missing"}
