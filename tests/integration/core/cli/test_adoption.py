"""`commonhold adopt` as a program: what it prints, and how it fails."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from commonhold.conformance.archives import conversation_archive, scope_archive
from tests.support.generation_four import (
    create_old_schema,
    fill_conversation,
    fill_scope,
    fill_with_odd_rows,
)
from tests.support.postgres import PostgresServer, execute, fetch_value
from tests.support.shell_runs import run_shell
from tests.support.shells import typed

PAGE = "docs/howto/adopt-a-schema.md"
VERB = ("adopt", "--from-schema", "neosian")


@pytest.fixture
async def old_dsn(database_dsn: str) -> str:
    """A database that holds the old schema, filled, beside ours."""
    conn = await asyncpg.connect(database_dsn)
    await create_old_schema(conn)
    await fill_scope(conn, scope_archive())
    await fill_conversation(conn, conversation_archive())
    await conn.close()
    return database_dsn


async def test_it_says_what_it_adopted_and_a_second_run_what_was_there(old_dsn: str) -> None:
    status, out, err = await run_shell(*VERB, NEOSIAN_POSTGRES_DSN=old_dsn)
    assert (status, err) == (0, "")
    assert out == "adopted 1 scope, 1 conversation from schema 'neosian'\n"
    status, out, err = await run_shell(*VERB, "--json", NEOSIAN_POSTGRES_DSN=old_dsn)
    assert (status, err) == (0, "")
    (line,) = out.splitlines()
    assert json.loads(line) == {
        "verb": "adopt",
        "from_schema": "neosian",
        "schema": "commonhold",
        "scopes": 1,
        "conversations": 1,
        "found": 2,
        "rows": 17,
        "left_out": [],
        "blanked": [],
        "kept_unread": [],
    }


async def test_rows_that_were_left_out_are_named_and_status_1(old_dsn: str) -> None:
    conn = await asyncpg.connect(old_dsn)
    await fill_with_odd_rows(conn)
    await conn.close()
    status, out, err = await run_shell(*VERB, NEOSIAN_POSTGRES_DSN=old_dsn)
    assert (status, err) == (1, "error: left out: 21; they are in 'neosian' alone\n")
    assert "left out: version 0 of kept in scope user:odd: its version is below 1\n" in out
    assert "left out: scope '': its name is not one" in out
    assert out.endswith("\nadopted 3 scopes, 2 conversations from schema 'neosian'\n")
    status, out, _ = await run_shell(*VERB, "--json", NEOSIAN_POSTGRES_DSN=old_dsn)
    found = json.loads(out)
    assert (status, len(found["left_out"]), len(found["kept_unread"])) == (1, 21, 2)
    assert found["kept_unread"][1] == {
        "kind": "conversation",
        "unit": "odd",
        "row": "turn 6",
        "reason": "its format is 2, this release reads 1",
    }


async def test_a_taken_place_is_status_1_with_its_code(old_dsn: str) -> None:
    await execute(old_dsn, "INSERT INTO commonhold.conversations VALUES ('thread-a', 0, now())")
    status, out, err = await run_shell(*VERB, "--json", NEOSIAN_POSTGRES_DSN=old_dsn)
    assert status == 1
    assert json.loads(out)["error"] == (
        "[agent_conversation_conflict] Conversation conflict on 'thread-a': target_occupied"
    )
    assert "target_occupied" in err
    assert await fetch_value(old_dsn, "SELECT count(*) FROM commonhold.documents") == 0


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        (("adopt",), {"NEOSIAN_POSTGRES_DSN": "postgresql://127.0.0.1:9/x"}, "--from-schema"),
        (VERB, {}, "NEOSIAN_POSTGRES_DSN"),
        (
            ("adopt", "--from-schema", "No"),
            {"NEOSIAN_POSTGRES_DSN": "postgresql://127.0.0.1:9/x"},
            "does not match",
        ),
        (
            (*VERB, "--schema", "neosian"),
            {"NEOSIAN_POSTGRES_DSN": "postgresql://127.0.0.1:9/x"},
            "is the schema to copy into",
        ),
    ],
)
async def test_a_wrong_invocation_is_status_2_and_opens_nothing(
    arguments: tuple[str, ...], settings: dict[str, str], said: str
) -> None:
    status, out, err = await run_shell(*arguments, "--json", **settings)
    assert status == 2
    assert said in err
    assert json.loads(out)["error"] == "usage"


async def test_a_database_that_does_not_answer_is_status_1() -> None:
    status, out, _ = await run_shell(
        *VERB, "--json", NEOSIAN_POSTGRES_DSN="postgresql://127.0.0.1:9/x"
    )
    assert status == 1
    assert json.loads(out)["error"].startswith("[adoption_error] the database refused")


async def test_the_page_goes_from_the_old_schema_to_one_that_fits(
    postgres_server: PostgresServer,
    empty_database_dsn: str,
    tmp_path: Path,
    shown_commands: Callable[[str], list[str]],
) -> None:
    conn: Any = await asyncpg.connect(empty_database_dsn)
    await create_old_schema(conn)
    await fill_scope(conn, scope_archive())
    await conn.close()
    given, rights, run, check = shown_commands(PAGE)
    assert given.count("postgresql://...") == 2
    place = empty_database_dsn.rpartition("@")[2]
    given = f"OWNER_DSN='{empty_database_dsn}'\nADOPT_DSN='postgresql://adopter:made-up@{place}'\n"
    try:
        typed(given + rights, folder=tmp_path)
        out = typed(given + run, folder=tmp_path)
        assert out == "adopted 1 scope, 0 conversations from schema 'neosian'\n"
        counts = typed(given + check, folder=tmp_path).splitlines()
        assert counts == ["5|5", "2|2", "0|0"]
    finally:
        await execute(empty_database_dsn, "DROP OWNED BY adopter", "DROP ROLE adopter")
