"""The example stores: the good one passes, the careless one does not, and the page is them."""

import ast
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from commonhold.contract import Message, StoreUnavailableError
from examples.sqlite_store import SqliteStore, TestConversations, TestDocuments, open_store
from tests.support.markdown import REPOSITORY, fences

__all__ = ["TestConversations", "TestDocuments"]

EXAMPLE = REPOSITORY / "examples/sqlite_store.py"
CARELESS = REPOSITORY / "examples/careless_store.py"
PAGE = (REPOSITORY / "docs/howto/write-a-store.md").read_text()
# What an author of a store needs: Python, the kits' runner, and the two facades.
FACADES = {"pytest", "commonhold.conformance", "commonhold.contract"}


def test_the_example_imports_the_standard_library_and_the_facades() -> None:
    imports = [
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(EXAMPLE.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    others = {name for name in imports if (name or "").split(".")[0] not in sys.stdlib_module_names}
    assert others == FACADES


def test_the_code_of_the_page_is_the_file() -> None:
    *blocks, careless = fences(PAGE, "python")
    rest = EXAMPLE.read_text()
    for block in blocks:
        rest = rest.lstrip("\n")
        assert rest.startswith(block)
        rest = rest.removeprefix(block)
    assert rest == ""
    assert careless == CARELESS.read_text()


def test_the_kit_finds_the_careless_store_and_says_what_the_page_says() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "since", CARELESS],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    said = "\n".join(line.removeprefix("E").strip() for line in run.stdout.splitlines())
    shown = "\n".join(line.strip() for line in fences(PAGE, "text")[-1].splitlines())
    assert run.returncode == 1
    assert shown in said


async def test_a_full_database_says_so_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with open_store(tmp_path / "store.db") as store:
        await store.write("user:ada", "a", "one")
        store.db.execute("PRAGMA max_page_count = 20")
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match="full"):
                await store.write("user:ada", "b", "x" * 200_000)
        store.db.execute("PRAGMA max_page_count = 20000")
        assert (await store.write("user:ada", "a", "two")).version == 2
        assert await store.read("user:ada", "b") is None


async def test_a_commit_that_fails_leaves_no_transaction_open(tmp_path: Path) -> None:
    with open_store(tmp_path / "store.db") as store:
        store.db.executescript(REFUSES_AT_COMMIT)
        with pytest.raises(sqlite3.IntegrityError):
            await store.write("user:ada", "a", "one")
        store.db.execute("DROP TRIGGER late")
        assert (await store.write("user:ada", "a", "two")).version == 1


REFUSES_AT_COMMIT = """
PRAGMA foreign_keys = ON;
CREATE TABLE parents (id INTEGER PRIMARY KEY);
CREATE TABLE orphans (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
CREATE TRIGGER late AFTER INSERT ON versions BEGIN INSERT INTO orphans VALUES (1); END;
"""
CALLS: tuple[Callable[[SqliteStore], Awaitable[object]], ...] = (
    lambda store: store.read("user:ada", "a"),
    lambda store: store.write("user:ada", "a", "two"),
    lambda store: store.list_documents("user:ada"),
    lambda store: store.versions("user:ada", "a"),
    lambda store: store.history("user:ada"),
    lambda store: store.redactions("user:ada"),
    lambda store: store.read_turns("c"),
    lambda store: store.last_turn_number("c"),
    lambda store: store.search_turns("hello"),
    lambda store: store.read_projections("c"),
)


async def test_a_damaged_database_is_a_store_that_is_away(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with open_store(file) as store:
        await store.write("user:ada", "a", "one")
        await store.redact("user:ada")
        await store.append_turn("c", [Message(role="user", content="hello")])
        (page_bytes,) = store.db.execute("PRAGMA page_size").fetchone()
    whole = file.read_bytes()
    # The first page, which has the tables' names, is left as it was.
    file.write_bytes(whole[:page_bytes] + b"\xff" * (len(whole) - page_bytes))
    with open_store(file) as store:
        for call in CALLS:
            with pytest.raises(StoreUnavailableError, match="malformed"):
                await call(store)
    file.write_bytes(b"no database" * 1000)
    with pytest.raises(StoreUnavailableError, match="not a database"), open_store(file):
        pass
