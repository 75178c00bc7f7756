"""`export` and `import`: what a script sees of units that are not there, or there already."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from commonhold.adapters.file import FileStore
from commonhold.cli import shell
from commonhold.conformance.samples import says
from commonhold.contract import (
    ConversationArchive,
    MemoryConflictError,
    ScopeArchive,
    StoreUnavailableError,
)
from tests.support.wire_service import TOKEN, running

Run: TypeAlias = Callable[..., tuple[int, dict[str, Any], str]]


class GoesAway(FileStore):
    """Takes scopes, and is away when the first conversation comes."""

    async def restore_conversation(self, archive: ConversationArchive) -> None:
        raise StoreUnavailableError("the database")


class Breaks(FileStore):
    """Takes scopes, and fails at the first conversation."""

    async def restore_conversation(self, archive: ConversationArchive) -> None:
        raise RuntimeError("a fault of the service")


class RefusesAndGoesAway(FileStore):
    is_away = False

    async def restore_scope(self, archive: ScopeArchive) -> None:
        self.is_away = True
        raise MemoryConflictError(scope=archive.scope, path=None, reason="target_occupied")

    async def scopes(self) -> tuple[str, ...]:
        if self.is_away:
            raise StoreUnavailableError("the database")
        return await super().scopes()


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEOSIAN_POSTGRES_DSN", raising=False)
    monkeypatch.setenv("NEOSIAN_CLIENT_TOKEN", TOKEN)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """The status, the one object on stdout, and stderr."""

    def run(*line: str) -> tuple[int, dict[str, Any], str]:
        status = shell.main([*line, "--json"])
        written = capfd.readouterr()
        return status, json.loads(written.out), written.err

    return run


def filled(root: Path, *, scopes: int = 2, conversations: int = 1) -> Path:
    async def fill() -> None:
        async with FileStore(root) as store:
            for number in range(scopes):
                await store.write(f"user:s{number:03}", "a", "x")
            for number in range(conversations):
                await store.append_turn(f"c{number}", [says("x")])

    root.mkdir()
    asyncio.run(fill())
    return root


def between(verb: str, source: Path, target: Path) -> tuple[str, ...]:
    """The line that moves one directory into another, by either verb."""
    target.mkdir(exist_ok=True)
    folder, store = (target, source) if verb == "export" else (source, target)
    return (verb, str(folder), "--root", str(store))


@pytest.mark.parametrize("verb", ["export", "import"])
def test_a_named_unit_that_is_not_there_is_status_one_and_the_others_move(
    run: Run, tmp_path: Path, verb: str
) -> None:
    line = between(verb, filled(tmp_path / "from"), tmp_path / "to")
    named = ("--scope", "user:s000", "--scope", "user:nobody", "--conversation", "nobody")
    status, told, said = run(*line, *named)
    assert status == 1
    assert [(unit["name"], unit["versions"]) for unit in told["units"]] == [
        ("user:nobody", 0),
        ("user:s000", 1),
        ("nobody", 0),
    ]
    assert told["failed"] == []
    assert told["missing"] == [
        {"kind": "scope", "name": "user:nobody"},
        {"kind": "conversation", "name": "nobody"},
    ]
    warnings = ["scope user:nobody holds nothing", "conversation nobody holds nothing"]
    assert said.splitlines() == [f"warning: {warning}" for warning in warnings]
    names = {entry.name for entry in (tmp_path / "to").iterdir()}
    assert names == {".store.lock", "user%3As000"}


@pytest.mark.parametrize("verb", ["export", "import"])
@pytest.mark.parametrize("file", ["user%3Ae/versions/a.jsonl", "conversations/e/turns.jsonl"])
def test_an_empty_unit_that_nobody_named_is_missed_by_nobody(
    run: Run, tmp_path: Path, verb: str, file: str
) -> None:
    source = filled(tmp_path / "from")
    (source / file).parent.mkdir(parents=True)
    (source / file).touch()
    status, told, said = run(*between(verb, source, tmp_path / "to"))
    assert (status, said, told["missing"]) == (0, "", [])
    assert len(told["units"]) == 4


@pytest.mark.parametrize("verb", ["export", "import"])
@pytest.mark.parametrize(
    ("named", "last"),
    [
        (("--scope", "user:nobody"), "nothing to {verb}"),
        (("--scope", "user:nobody", "--conversation", "c0"), "0 scopes, 1 conversation"),
        ((), "2 scopes, 1 conversation"),
    ],
)
def test_what_is_counted_at_the_end_is_what_moved(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, verb: str, named: tuple[str, ...], last: str
) -> None:
    line = between(verb, filled(tmp_path / "from"), tmp_path / "to")
    shell.main([*line, *named])
    assert last.format(verb=verb) in capfd.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("verb", ["export", "import"])
def test_a_place_that_is_taken_says_what_moves_the_rest(
    run: Run, tmp_path: Path, verb: str
) -> None:
    line = between(verb, filled(tmp_path / "from"), tmp_path / "to")
    status, _, _ = run(*line, "--scope", "user:s000")
    assert status == 0
    status, told, said = run(*line)
    rest = "--scope user:s001 --conversation c0"
    hint = f"there already: scope user:s000; to move the rest alone: {rest}"
    assert status == 1
    assert told == {
        "error": "[memory_conflict] Memory conflict in scope 'user:s000': target_occupied",
        "hint": hint,
    }
    assert said.splitlines() == [f"error: {told['error']}", f"hint: {hint}"]
    status, told, _ = run(*line, *rest.split())
    assert (status, len(told["units"])) == (0, 2)
    status, told, _ = run(*line)
    there = "scope user:s000, scope user:s001, conversation c0"
    assert told["hint"] == f"there already: {there}; nothing else is left to move"


def test_a_hint_stays_short_where_there_is_much(run: Run, tmp_path: Path) -> None:
    line = between("import", filled(tmp_path / "from", scopes=213), tmp_path / "to")
    taken = [f"user:s{number:03}" for number in range(12)]
    run(*line, *(part for name in taken for part in ("--scope", name)))
    _, told, _ = run(*line)
    there, left = told["hint"].split("; ")
    assert there.endswith("scope user:s008, scope user:s009 and 2 more")
    assert left == "name the other 202 with --scope and --conversation"


@pytest.mark.parametrize(
    ("kind", "code"), [(GoesAway, "[store_unavailable]"), (Breaks, "[neosian_error]")]
)
async def test_a_store_that_goes_away_says_what_is_left(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, kind: type[FileStore], code: str
) -> None:
    told = await served_import(kind, tmp_path, capfd)
    assert told["error"].startswith(code)
    assert told["hint"] == "to move the rest alone: --conversation c0 --conversation c1"


async def test_a_conflict_stands_where_what_is_there_cannot_be_told(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = await served_import(RefusesAndGoesAway, tmp_path, capfd)
    assert told["error"].startswith("[memory_conflict]")


async def served_import(
    kind: type[FileStore], folder: Path, capfd: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """What an import into a served store tells that fails."""
    source = await asyncio.to_thread(filled, folder / "from", conversations=2)
    async with kind(folder / "served") as store, running(store) as wire:
        line = ("import", str(source), "--url", f"http://{wire.address}", "--json")
        status = await asyncio.to_thread(shell.main, line)
    # The service, which runs here too, logs to stdout.
    told: dict[str, Any] = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert status == 1
    return told
