"""The verbs that work on a store, pointed at a state service by its URL."""

import asyncio
import json
from typing import Any

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.cli import shell
from commonhold.contract import Message
from tests.support.plain_store import PlainStore
from tests.support.ports import free_port
from tests.support.scripted_model import says, scripted_model
from tests.support.wire_service import TOKEN, running

MAINTAIN = ("memory", "maintain", "--scope", "user:ana", "--min-age-days", "0")
REDACT = ("redact", "chat-1", "--all")
PRUNE = ("prune", "--older-than", "1d")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NEOSIAN_POSTGRES_DSN", "NEOSIAN_SCOPE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NEOSIAN_CLIENT_TOKEN", TOKEN)


async def run(capfd: pytest.CaptureFixture[str], *line: str) -> tuple[int, dict[str, Any], str]:
    """The status, the one object on stdout, and stderr; the verb has a loop of its own."""
    status = await asyncio.to_thread(shell.main, [*line, "--json"])
    written = capfd.readouterr()
    (answer,) = map(json.loads, written.out.splitlines())
    if "error" in answer:
        assert f"error: {answer['error']}" in written.err.splitlines()
    assert TOKEN not in written.out + written.err
    return status, answer, written.err


async def test_the_verbs_work_through_the_service(capfd: pytest.CaptureFixture[str]) -> None:
    store = InMemoryStore()
    for path, content in {"a": "same", "b": "same", "blank": " "}.items():
        await store.write("user:ana", path, content)
    await store.append_turn("chat-1", [Message(role="user", content="hi")])
    await store.write("user:ana", "sessions/chat-1", "# session")
    async with running(store) as wire:
        url = ("--url", f"http://{wire.address}")
        status, tidied, _ = await run(capfd, *MAINTAIN, *url)
        assert (status, tidied["fence"]) == (0, "reread")
        assert [write["path"] for write in tidied["writes"]] == ["/memories/blank", "/memories/b"]
        status, erased, _ = await run(capfd, *REDACT, *url)
        assert (status, erased["count"], erased["client"]) == (0, 1, "client:default")
        assert erased["documents"] == [{"scope": "user:ana", "path": "sessions/chat-1"}]
        status, pruned, _ = await run(capfd, *PRUNE, *url)
        assert (status, pruned["turns"], pruned["client"]) == (0, 0, "client:default")
    (row, *_) = await store.versions("user:ana", "b")
    assert row.actor == "client:default/cli:local"


@pytest.mark.parametrize("line", [MAINTAIN, REDACT, PRUNE], ids=lambda line: line[0])
async def test_a_url_that_leads_nowhere_is_status_one(
    line: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    status, answer, said = await run(capfd, *line, "--url", f"http://127.0.0.1:{free_port()}")
    assert status == 1
    assert answer["error"].startswith("[store_unavailable] ")
    assert said.startswith("error: ")


async def test_a_service_that_refuses_is_status_one_with_its_code(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(PlainStore()) as wire:
        status, answer, _ = await run(capfd, *REDACT, "--url", f"http://{wire.address}")
        assert (status, answer["error"][:27]) == (1, "[agent_configuration_error]")
    async with running(InMemoryStore(), tokens=f"client:a@user:ana={TOKEN}") as wire:
        status, answer, _ = await run(capfd, *PRUNE, "--url", f"http://{wire.address}")
        assert (status, answer["error"][:11]) == (1, "[forbidden]")
    async with running(InMemoryStore()) as wire:
        monkeypatch.setenv("NEOSIAN_CLIENT_TOKEN", "wrong")
        status, answer, _ = await run(capfd, *PRUNE, "--url", f"http://{wire.address}")
        assert (status, answer["error"][:27]) == (1, "[agent_configuration_error]")
        assert "does not accept the token" in answer["error"]


async def test_another_wire_is_status_one_and_names_both(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with scripted_model(says({"wire_version": 5})) as server:
        url = server.base_url.removesuffix("/v1")
        status, answer, _ = await run(capfd, *PRUNE, "--url", url)
    assert status == 1
    assert "speaks wire 5, this release wire 6" in answer["error"]
