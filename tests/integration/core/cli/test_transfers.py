"""`commonhold export` and `import` as programs: a database, files, a service."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from commonhold.adapters.file import FileStore
from commonhold.adapters.postgres import PostgresStore
from commonhold.conformance.archives import conversation_archive, scope_archive
from commonhold.conformance.samples import SCOPE, THREAD, says
from commonhold.usecases.transfers.archives import archive_scope
from tests.support.pools import open_pool
from tests.support.postgres import PostgresServer, temporary_database
from tests.support.service_process import TOKEN
from tests.support.shell_runs import run_shell, start_shell
from tests.support.shells import typed
from tests.support.state_process import state_process

PATIENCE_SECONDS = 60.0
LINES = [
    "scope        user:ada  2 documents  5 versions  2 redactions",
    "conversation thread-a  3 turns  3 projections  2 redactions",
]


@pytest.fixture
async def filled_dsn(database_dsn: str) -> str:
    """A database with a scope and a conversation."""
    pool = await open_pool(database_dsn, size=1)
    store = PostgresStore(pool)
    await store.restore_scope(scope_archive())
    await store.restore_conversation(conversation_archive())
    await pool.close()
    return database_dsn


@pytest.fixture
async def other_dsn(postgres_server: PostgresServer, database_template: str) -> AsyncIterator[str]:
    async with temporary_database(postgres_server, template=database_template) as dsn:
        yield dsn


async def test_an_export_is_imported_and_exported_again_to_the_byte(
    filled_dsn: str, other_dsn: str, tmp_path: Path
) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    exported = await run_shell("export", str(first), NEOSIAN_POSTGRES_DSN=filled_dsn)
    assert exported[::2] == (0, "")
    last = f"exported 1 scope, 1 conversation to {first}"
    assert exported[1].splitlines() == [*LINES, last]
    imported = await run_shell("import", str(first), NEOSIAN_POSTGRES_DSN=other_dsn)
    assert imported[::2] == (0, "")
    last = f"imported 1 scope, 1 conversation from {first}"
    assert imported[1].splitlines() == [*LINES, last]
    await run_shell("export", str(again), NEOSIAN_POSTGRES_DSN=other_dsn)
    assert _tree(again) == _tree(first)
    assert len(_tree(first)) == 9


async def test_a_taken_place_refuses_all_of_it(filled_dsn: str, tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    async with FileStore(folder) as files:
        await files.append_turn(THREAD, [says("mine")])
    before = _tree(folder)
    status, out, err = await run_shell(
        "export", str(folder), "--json", NEOSIAN_POSTGRES_DSN=filled_dsn
    )
    refusal = f"[agent_conversation_conflict] Conversation conflict on '{THREAD}': target_occupied"
    assert status == 1
    rest = f"to move the rest alone: --scope {SCOPE}"
    hint = f"there already: conversation {THREAD}; {rest}"
    assert json.loads(out) == {"error": refusal, "hint": hint}
    assert err == f"error: {refusal}\nhint: {hint}\n"
    assert _tree(folder) == before


async def test_a_unit_that_cannot_move_is_named_and_the_others_move(
    filled_dsn: str, tmp_path: Path
) -> None:
    pool = await open_pool(filled_dsn, size=1)
    for path in ("a", "a.md/b"):
        await PostgresStore(pool).write("user:clash", path, "x")
    await pool.close()
    status, out, err = await run_shell(
        *("export", str(tmp_path / "archive"), "--json", "--scope", "user:clash"),
        *("--scope", SCOPE, "--scope", "user:nobody"),
        NEOSIAN_POSTGRES_DSN=filled_dsn,
    )
    (line,) = out.splitlines()
    told = json.loads(line)
    assert status == 1
    assert (told["verb"], told["client"]) == ("export", None)
    assert told["archive"] == str(tmp_path / "archive")
    (failed,) = told["failed"]
    assert (failed["kind"], failed["name"]) == ("scope", "user:clash")
    assert failed["error"].startswith("[memory_conflict] ")
    assert told["units"][0] == {
        "kind": "scope",
        "name": SCOPE,
        "documents": 2,
        "versions": 5,
        "redactions": 2,
        "turns": 0,
        "projections": 0,
    }
    assert "error: scope user:clash was left out: [memory_conflict] " in err
    assert "warning: scope user:nobody holds nothing" in err


async def test_a_service_is_exported_and_imported_by_its_url(
    filled_dsn: str, other_dsn: str, tmp_path: Path
) -> None:
    folder = str(tmp_path / "archive")
    async with state_process(filled_dsn) as first, state_process(other_dsn) as second:
        for verb, service in (("export", first), ("import", second)):
            await service.until_ops("/readyz", status=200)
            status, out, _ = await run_shell(
                *(verb, folder, "--json", "--url", f"http://127.0.0.1:{service.port}"),
                NEOSIAN_CLIENT_TOKEN=TOKEN,
            )
            told = json.loads(out)
            assert (status, told["client"], len(told["units"])) == (0, "client:default", 2)
    pool = await open_pool(other_dsn, size=1)
    assert repr(await PostgresStore(pool).archive_scope(SCOPE)) == repr(scope_archive())
    await pool.close()


async def test_an_interrupted_export_leaves_whole_units(database_dsn: str, tmp_path: Path) -> None:
    pool = await open_pool(database_dsn, size=1)
    store = PostgresStore(pool)
    for number in range(200):
        await store.write(f"user:s{number:03}", "a", "x")
    folder = tmp_path / "archive"
    process = await start_shell("export", str(folder), NEOSIAN_POSTGRES_DSN=database_dsn)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (folder / "user%3As003").exists():
            assert process.returncode is None, await process.communicate()
            await asyncio.sleep(0.001)
        process.send_signal(signal.SIGINT)
        await process.communicate()
    assert process.returncode == 130
    async with FileStore(folder) as files:
        moved = await files.scopes()
        assert 3 <= len(moved) < 200
        for scope in moved:
            assert await archive_scope(files, scope) == await store.archive_scope(scope)
    await pool.close()


def _tree(root: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


async def test_the_page_moves_a_scope_and_a_conversation_to_a_service(
    filled_dsn: str,
    other_dsn: str,
    tmp_path: Path,
    shown_commands: Callable[[str], list[str]],
) -> None:
    given, move = shown_commands("docs/howto/operate.md")
    async with state_process(other_dsn) as service:
        await service.until_ops("/readyz", status=200)
        for shown, ours in (
            ("postgresql://...", f"'{filled_dsn}'"),
            ("http://127.0.0.1:6367", f"http://127.0.0.1:{service.port}"),
            ("TOKEN=...", f"TOKEN={TOKEN}"),
        ):
            assert given.count(shown) == 1
            given = given.replace(shown, ours)
        out = await asyncio.to_thread(typed, given + move, folder=tmp_path)
    lasts = [f"{verb} 1 scope, 1 conversation" for verb in ("exported", "imported")]
    assert out.splitlines() == [
        *LINES,
        f"{lasts[0]} to archive",
        *LINES,
        f"{lasts[1]} from archive",
    ]
    pool = await open_pool(other_dsn, size=1)
    assert repr(await PostgresStore(pool).archive_scope(SCOPE)) == repr(scope_archive())
    await pool.close()
