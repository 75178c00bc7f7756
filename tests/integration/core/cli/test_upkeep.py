"""The verbs of upkeep on a database: what they print, and with which status they end."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from commonhold.adapters.postgres import PostgresStore
from commonhold.cli import shell
from commonhold.conformance import TickingClock
from commonhold.contract import Message
from tests.support.pools import open_pool

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
T = TypeVar("T")
Ask = Callable[[Callable[[PostgresStore], Awaitable[T]]], T]


@pytest.fixture
def ask(database_dsn: str, monkeypatch: pytest.MonkeyPatch) -> Ask[Any]:
    """Work on the store that the verbs find, at a time long ago."""
    monkeypatch.setenv("NEOSIAN_POSTGRES_DSN", database_dsn)

    async def work(act: Callable[[PostgresStore], Awaitable[Any]]) -> Any:
        pool = await open_pool(database_dsn, size=1)
        try:
            return await act(PostgresStore(pool, clock=TickingClock(LONG_AGO)))
        finally:
            await pool.close()

    return lambda act: asyncio.run(work(act))


def run(
    capfd: pytest.CaptureFixture[str], *line: str, status: int = 0
) -> tuple[list[str], dict[str, Any]]:
    """The lines of a verb; and with JSON its one object, from a second run."""
    assert shell.main(line) == status
    lines = capfd.readouterr().out.splitlines()
    assert shell.main([*line, "--json"]) == status
    (answer,) = map(json.loads, capfd.readouterr().out.splitlines())
    return lines, answer


async def plant_documents(store: PostgresStore) -> None:
    for path, content in {"z": "same", "a": "same", "blank": " ", "kept": "text"}.items():
        await store.write("user:ana", path, content)


async def plant_turns(store: PostgresStore) -> None:
    for name, count in {"chat-1": 3, "chat-2": 1, "case-9": 1}.items():
        for number in range(count):
            await store.append_turn(name, [Message(role="user", content=f"turn {number}")])
        await store.write("user:ana/proj:shop", f"sessions/{name}", "# session")


def test_maintain_prints_a_line_a_write(ask: Ask[Any], capfd: pytest.CaptureFixture[str]) -> None:
    ask(plant_documents)
    mount = ("memory", "maintain", "--mount", "scope=user:ana,path=user")
    lines, planned = run(capfd, *mount, "--dry-run")
    assert lines == ["delete /user/blank", "delete /user/a"]
    assert planned["dry_run"] is True
    assert ask(lambda store: store.read("user:ana", "blank")) is not None
    lines, again = run(capfd, *mount, "--actor", "cli:night")
    assert lines == ["delete /user/blank", "delete /user/a"]
    assert again == {
        "writes": [],
        "model": None,
        "usage": None,
        "cost_micro_usd": None,
        "degraded": None,
        "skipped": [],
        "failed": [],
        "dry_run": False,
        "fence": "conditional",
    }
    assert list(planned)[:5] == list(again)[:5]
    rows = ask(lambda store: store.versions("user:ana", "blank"))
    assert (rows[0].action, rows[0].actor) == ("deleted", "cli:night")
    assert run(capfd, *mount)[0] == ["nothing to do"]


def test_maintain_takes_a_scope_from_the_environment(
    ask: Ask[Any], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(plant_documents)
    monkeypatch.setenv("NEOSIAN_SCOPE", "user:ana")
    _, planned = run(capfd, "memory", "maintain", "--dry-run", "--min-age-days", "0")
    assert planned["writes"] == [
        {"command": "delete", "path": "/memories/blank", "version": None},
        {"command": "delete", "path": "/memories/a", "version": None},
    ]
    assert run(capfd, "memory", "maintain", "--min-age-days", "99999")[0] == ["nothing to do"]


def test_redact_erases_all_and_says_where(ask: Ask[Any], capfd: pytest.CaptureFixture[str]) -> None:
    ask(plant_turns)
    assert run(capfd, "redact", "chat-1", "--through", "1")[0] == ["redacted 1 turn of chat-1"]
    assert run(capfd, "redact", "chat-1", "--turns", "1,2")[0] == ["redacted 2 turns of chat-1"]
    lines, again = run(capfd, "redact", "chat-1", "--all")
    assert lines == [
        "redacted 3 turns of chat-1",
        "redacted /sessions/chat-1 in user:ana/proj:shop",
    ]
    assert again == {
        "verb": "redact",
        "conversation_id": "chat-1",
        "count": 3,
        "documents": [],
        "client": None,
    }
    acts = ask(lambda store: store.turn_redactions())
    assert {act.actor for act in acts} == {"cli:local"}
    assert run(capfd, "redact", "nope", "--all")[0] == ["no turns matched in nope"]


def test_prune_plans_and_then_erases(ask: Ask[Any], capfd: pytest.CaptureFixture[str]) -> None:
    ask(plant_turns)
    line = ("prune", "--older-than", "12h", "--hold-conversation", "case-")
    lines, planned = run(capfd, *line, "--dry-run")
    assert [text.partition(" older than ")[0] for text in lines] == [
        "chat-1  3 turns  last 2026-01-01T00:00:00Z",
        "chat-2  1 turn  last 2026-01-01T00:00:00Z",
        "would redact 2 conversations, 4 turns",
        "would redact /sessions/chat-1 in user:ana/proj:shop",
        "would redact /sessions/chat-2 in user:ana/proj:shop",
        "kept case-9: legal hold",
    ]
    assert list(planned) == [
        "verb",
        "cutoff",
        "dry_run",
        "turns",
        "conversations",
        "documents",
        "client",
        "skipped",
    ]
    assert (planned["dry_run"], planned["turns"]) == (True, 4)
    assert planned["conversations"][0] == {
        "conversation_id": "chat-1",
        "turns": 3,
        "last_at": "2026-01-01T00:00:00Z",
    }
    assert planned["documents"][0] == {"scope": "user:ana/proj:shop", "path": "sessions/chat-1"}
    assert planned["skipped"] == [{"conversation_id": "case-9", "reason": "legal hold"}]
    lines, again = run(capfd, *line)
    assert lines[2].startswith("redacted 2 conversations, 4 turns older than 20")
    assert (again["turns"], again["conversations"], again["documents"]) == (0, [], [])
    lines, _ = run(capfd, *line)
    assert lines[0].startswith("nothing older than 20")


def test_prune_erases_the_documents_of_scopes_instead(
    ask: Ask[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    ask(plant_documents)
    ask(plant_turns)
    line = ("prune", "--older-than", "12h", "--scope", "user:", "--hold-conversation", "case-")
    held = "kept /sessions/case-9 in user:ana/proj:shop: legal hold"
    names = [f"/{path} in user:ana" for path in ("a", "blank", "kept", "z")]
    names += [f"/sessions/chat-{number} in user:ana/proj:shop" for number in (1, 2)]
    lines, planned = run(capfd, *line, "--dry-run")
    assert lines == [*(f"would redact {name}" for name in names), held]
    assert (planned["verb"], planned["turns"], planned["conversations"]) == ("prune", 0, [])
    assert planned["documents"][0] == {"scope": "user:ana", "path": "a"}
    lines, again = run(capfd, *line, "--actor", "cli:night")
    assert lines == [*(f"redacted {name}" for name in names), held]
    assert again["documents"] == []
    (newest, *_) = ask(lambda store: store.redactions("user:ana"))
    assert newest.actor == "cli:night"
    assert ask(lambda store: store.read_turns("chat-1"))[0].redacted is False
    lines, _ = run(capfd, "prune", "--older-than", "12h", "--scope", "nobody:")
    assert lines[0].startswith("nothing older than 20")


def test_a_schema_without_tables_is_status_one(
    ask: Ask[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    assert shell.main(["redact", "c", "--all", "--schema", "other", "--json"]) == 1
    written = capfd.readouterr()
    expected = "schema 'other' holds no Commonhold tables: run `commonhold migrate`"
    assert json.loads(written.out) == {"error": expected, "hint": None}
    assert written.err == f"error: {expected}\n"
