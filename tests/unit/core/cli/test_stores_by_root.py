"""The verbs that work on a store, pointed at a directory of files."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from commonhold.adapters.file import FileStore
from commonhold.cli import shell
from commonhold.conformance import ControlledClock
from commonhold.contract import Message

MAINTAIN = ("memory", "maintain", "--scope", "user:ana", "--min-age-days", "0")
REDACT = ("redact", "chat-1", "--all")
PRUNE = ("prune", "--older-than", "1d")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NEOSIAN_POSTGRES_DSN", "NEOSIAN_SCOPE", "NEOSIAN_CLIENT_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[FileStore]:
    async with FileStore(tmp_path / "root") as store:
        for path, content in {"a": "same", "b": "same", "blank": " "}.items():
            await store.write("user:ana", path, content)
        await store.append_turn("chat-1", [Message(role="user", content="hi")])
        await store.write("user:ana", "sessions/chat-1", "# session")
        yield store


async def run(capfd: pytest.CaptureFixture[str], *line: str) -> tuple[int, dict[str, Any], str]:
    """The status, the one object on stdout, and stderr; the verb has a loop of its own."""
    status = await asyncio.to_thread(shell.main, [*line, "--json"])
    written = capfd.readouterr()
    answer = written.out.splitlines()[-1]
    return status, json.loads(answer), written.err


async def test_the_verbs_work_on_the_files(
    store: FileStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = ("--root", str(tmp_path / "root"))
    status, tidied, _ = await run(capfd, *MAINTAIN, *root)
    assert status == 0
    assert [write["path"] for write in tidied["writes"]] == ["/memories/blank", "/memories/b"]
    assert await store.read("user:ana", "b") is None
    status, erased, _ = await run(capfd, *REDACT, *root)
    assert (status, erased["count"]) == (0, 1)
    assert erased["documents"] == [{"scope": "user:ana", "path": "sessions/chat-1"}]
    status, pruned, _ = await run(capfd, *PRUNE, *root)
    assert (status, pruned["turns"]) == (0, 0)
    status, expired, _ = await run(capfd, *PRUNE, "--scope", "user:", *root)
    assert (status, expired["documents"]) == (0, [])


@pytest.mark.parametrize("line", [REDACT, PRUNE])
async def test_an_erasure_that_is_not_made_in_full_says_so_and_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], line: tuple[str, ...]
) -> None:
    root = tmp_path / "root"
    long_ago = ControlledClock(datetime(2020, 1, 2, tzinfo=UTC))
    async with FileStore(root, clock=long_ago) as store:
        await store.append_turn("chat-1", [Message(role="user", content="hi")])
        for scope in ("user:ana", "user:bob"):
            await store.write(scope, "sessions/chat-1", "# session")
    (root / "user%3Aana/documents/stray.md").symlink_to("nowhere")
    status, told, errors = await run(capfd, *line, "--root", str(root))
    assert status == 1
    assert told["documents"] == [{"scope": "user:bob", "path": "sessions/chat-1"}]
    assert "user:ana" in str(told["unfinished"])
    assert "error: documents under sessions/ in user:ana may not be erased: " in errors


async def test_a_broken_file_is_named_in_the_hint(
    store: FileStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    history = "conversations/chat-1/turns.jsonl"
    with (tmp_path / "root" / history).open("ab") as file:
        file.write(b"{")
    status, answer, said = await run(capfd, *REDACT, "--root", str(tmp_path / "root"))
    assert status == 1
    assert answer["error"].startswith("[agent_conversation_format_unsupported] ")
    assert answer["hint"] == f"in {history}, line 2"
    assert f"hint: in {history}, line 2" in said
