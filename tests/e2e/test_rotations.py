"""The page on rotation, typed as it stands: nobody is refused who should not be."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.support.postgres import PostgresServer, execute
from tests.support.raw_http import request_bytes
from tests.support.service_process import ServiceProcess
from tests.support.shells import typed
from tests.support.state_process import state_process

PAGE = "docs/howto/rotate-tokens.md"
ROLES = ("commonhold_serve_a", "commonhold_serve_b")
OLD = "client:ana@user:ana=old,client:anabel=other,client:bo=third"

Shown = Callable[[str], list[str]]


@pytest.fixture
async def roles(postgres_server: PostgresServer, database_dsn: str) -> AsyncIterator[None]:
    """The first of the two roles, and neither of them afterwards."""
    await execute(postgres_server.dsn, f"CREATE ROLE {ROLES[0]} LOGIN PASSWORD 'a'")
    yield
    await execute(
        database_dsn,
        *(
            f"DO $$ BEGIN IF EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}')"
            f" THEN DROP OWNED BY {role}; DROP ROLE {role}; END IF; END $$"
            for role in ROLES
        ),
    )


async def test_the_tables_of_the_page_are_both_accepted(
    database_dsn: str, tmp_path: Path, shown_commands: Shown
) -> None:
    (script,) = shown_commands(PAGE)
    (tmp_path / "tokens.txt").write_text(OLD)
    typed(script, folder=tmp_path)
    table = (tmp_path / "tokens.txt").read_text()
    (new,) = [
        entry.partition("=")[2] for entry in table.split(",") if entry.startswith("client:ana@")
    ]
    assert table == OLD.replace("=old", f"={new}")
    assert len(new) > 40
    files = {
        "NEOSIAN_SERVE_TOKEN_FILE": str(tmp_path / "tokens.txt"),
        "COMMONHOLD_SERVE_TOKEN_PREVIOUS_FILE": str(tmp_path / "tokens.previous.txt"),
    }
    both = {"NEOSIAN_SERVE_TOKEN": "", **files}
    async with state_process(database_dsn, settings=both) as service:
        await service.until_ops("/readyz", status=200)
        assert [await _status(service, token) for token in ("old", new, "other", "no")] == [
            200,
            200,
            200,
            401,
        ]
    both.pop("COMMONHOLD_SERVE_TOKEN_PREVIOUS_FILE")
    async with state_process(database_dsn, settings=both) as service:
        await service.until_ops("/readyz", status=200)
        assert [await _status(service, token) for token in ("old", new, "other")] == [401, 200, 200]


async def test_the_other_role_of_the_page_serves_and_the_first_can_go(
    database_dsn: str, roles: None, tmp_path: Path, shown_commands: Shown
) -> None:
    make, drop = shown_commands(PAGE)
    given = {"ADMIN_DSN": database_dsn, "OWNER_DSN": database_dsn}
    grant = "COMMONHOLD_MIGRATE_DSN=$OWNER_DSN commonhold migrate --grant-to commonhold_serve_a"
    typed(grant, folder=tmp_path, given=given)
    (tmp_path / "serve-b.password").write_text("b")
    typed(make, folder=tmp_path, given=given)
    _, _, place = database_dsn.partition("@")
    async with state_process(f"postgresql://commonhold_serve_b:b@{place}") as service:
        await service.until_ops("/readyz", status=200)
        typed(drop, folder=tmp_path, given=given)
        assert await _status(service, "s3cret") == 200


async def _status(service: ServiceProcess, token: str) -> int:
    body = b'{"scope":"user:ana","path":"a"}'
    headers = {"authorization": f"Bearer {token}"}
    request = request_bytes("POST", "/v1/memory/read", headers=headers, body=body)
    async with await service.connect() as connection:
        return (await connection.ask(request)).status
