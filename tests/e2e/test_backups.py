"""The page on backups, typed as it stands: what was dumped is found again, and served."""

import json
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.support.postgres import PostgresServer, execute
from tests.support.shells import typed
from tests.support.state_process import post, state_process

PAGE = "docs/howto/back-up-and-restore.md"
SERVING_ROLE = "commonhold_serve"
TURN = {"conversation_id": "c-1", "messages": [{"role": "user", "content": "said"}]}


@pytest.fixture
async def serving_role(
    postgres_server: PostgresServer, empty_database_dsn: str
) -> AsyncIterator[str]:
    """The role of the page, for as long as the databases that grant it something."""
    await execute(postgres_server.dsn, f"CREATE ROLE {SERVING_ROLE} LOGIN PASSWORD 'serve'")
    yield SERVING_ROLE
    await execute(empty_database_dsn, f"DROP OWNED BY {SERVING_ROLE}")
    await execute(postgres_server.dsn, f"DROP ROLE {SERVING_ROLE}")


async def test_the_drill_of_the_page_finds_what_was_dumped(
    database_dsn: str,
    empty_database_dsn: str,
    serving_role: str,
    tmp_path: Path,
    shown_commands: Callable[[str], list[str]],
) -> None:
    given, dump, restore, erasures, drill = shown_commands(PAGE)
    assert given.count("postgresql://...") == 2
    given = f"OWNER_DSN='{database_dsn}'\nRESTORED_DSN='{empty_database_dsn}'\n"
    async with state_process(database_dsn) as service:
        await service.until_ops("/readyz", status=200)
        for path in ("kept", "erased"):
            document = {"scope": "user:ana", "path": path, "content": f"text of {path}"}
            assert (await post(service, "memory/write", document)).status == 200
        assert (await post(service, "conversation/append_turn", TURN)).status == 200
        typed(given + dump, folder=tmp_path)
        assert stat.S_IMODE((tmp_path / "commonhold.dump").stat().st_mode) == 0o600
        redaction = {"scope": "user:ana", "path": "erased"}
        assert (await post(service, "memory/redact", redaction)).status == 200
        typed(given + restore, folder=tmp_path)
        listed = typed(given + erasures, folder=tmp_path).splitlines()
        assert [line.split("|")[:2] for line in listed] == [["user:ana", "erased"]]
        before, after, fits = typed(given + drill, folder=tmp_path).splitlines()
        assert before == after
        assert before.startswith("2|1|")
        assert fits == "schema 'commonhold' fits this release"
    async with state_process(_as_role(empty_database_dsn, serving_role)) as restored:
        await restored.until_ops("/readyz", status=200)
        read = await post(restored, "memory/read", {"scope": "user:ana", "path": "kept"})
        assert json.loads(read.text)["document"]["content"] == "text of kept"
        searched = await post(restored, "conversation/search_turns", {"query": "said", "limit": 5})
        assert len(json.loads(searched.text)["turns"]) == 1
        assert (await post(restored, "conversation/append_turn", TURN)).status == 200


def _as_role(dsn: str, role: str) -> str:
    _, _, place = dsn.partition("@")
    return f"postgresql://{role}:serve@{place}"
