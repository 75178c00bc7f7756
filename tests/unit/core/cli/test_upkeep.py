"""The verbs of upkeep before a store is opened: what is refused, and how it is told."""

import json
import socket
from collections.abc import Iterator

import pytest

from commonhold.cli import shell
from tests.support.ports import free_port

MAINTAIN = ("memory", "maintain")
SELECTOR = "give exactly one of --all, --through N or --turns N[,N...]"
WRONG = [
    ([*MAINTAIN], "name what to work on: --mount, --scope or NEOSIAN_SCOPE"),
    ([*MAINTAIN, "--scope", "s"], "[memory_scope_invalid] Invalid memory scope 's': does not"),
    ([*MAINTAIN, "--scope", ""], "[memory_scope_invalid] Invalid memory scope ''"),
    ([*MAINTAIN, "--scope", "a:b", "--mount", "scope=a:b,path=p"], "mutually exclusive"),
    ([*MAINTAIN, "--mount", "scope=a:b"], "--mount 'scope=a:b' needs both scope= and path="),
    ([*MAINTAIN, "--mount", "scope=a:b,path=p,rw"], "malformed --mount 'scope=a:b,path=p,rw'"),
    (
        [*MAINTAIN, "--mount", "scope=a:b,path=p", "--mount", "scope=a:c,path=p"],
        "mount paths must be unique",
    ),
    (
        [*MAINTAIN, "--scope", "a:b", "--min-age-days", "-1"],
        "--min-age-days must not be negative",
    ),
    ([*MAINTAIN, "--scope", "a:b", "--min-age-days", "x"], "--min-age-days"),
    *(
        ([*line, text], f"{line[-1]}: takes a whole number, got '{text}'")
        for line in ([*MAINTAIN, "--scope", "a:b", "--min-age-days"], ["redact", "c", "--through"])
        for text in ("0.4", "1.0", "1e3", "0x10", "1_0", "１")
    ),
    ([*MAINTAIN, "--scope", "a:b", "--actor", "me"], "[memory_actor_invalid] Invalid actor 'me'"),
    ([*MAINTAIN, "--scope", "a:b", "--schema", "No"], "schema name 'No'"),
    ([*MAINTAIN, "--scope", "a:b", "--nonsense"], "--nonsense"),
    (["redact"], "CONVERSATION"),
    (["redact", "c"], SELECTOR),
    (["redact", "c", "--all", "--through", "1"], SELECTOR),
    (["redact", "c", "--turns", "1", "--through", "1"], SELECTOR),
    (["redact", "c", "--through", "0"], "turn numbers start at 1, got 0"),
    (["redact", "c", "--turns", "1,0"], "turn numbers start at 1, got 0"),
    (["redact", "c", "--turns", "1,-3"], "turn numbers start at 1, got -3"),
    (["redact", "c", "--turns", "1,x"], "--turns takes numbers joined by commas, got '1,x'"),
    (["redact", "c", "--turns", ""], "--turns takes numbers joined by commas, got ''"),
    (["redact", "a/b", "--all"], "[agent_conversation_id_invalid] Invalid conversation id 'a/b'"),
    (["redact", "c", "--all", "--actor", "me"], "[memory_actor_invalid]"),
    (["prune"], "--older-than"),
    (["prune", "--older-than", "10m"], "not a duration: '10m' (e.g. 30d or 12h)"),
    (["prune", "--older-than", "0d"], "not a duration: '0d'"),
    (["prune", "--older-than", "30"], "not a duration: '30'"),
    (["prune", "--older-than", "30d "], "not a duration: '30d '"),
    (["prune", "--older-than", "30d", "--actor", "me"], "[memory_actor_invalid]"),
    (["prune", "--older-than", "30d", "--scope", ""], "--scope takes the beginning of a scope"),
]


@pytest.fixture(autouse=True)
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The only database there is; it answers nothing and shows who tried."""
    monkeypatch.delenv("NEOSIAN_SCOPE", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        port = server.getsockname()[1]
        monkeypatch.setenv("NEOSIAN_POSTGRES_DSN", f"postgresql://u:p@127.0.0.1:{port}/d")
        yield server


@pytest.mark.parametrize(("line", "said"), WRONG)
def test_a_wrong_invocation_is_status_two_and_opens_nothing(
    line: list[str], said: str, listener: socket.socket, capfd: pytest.CaptureFixture[str]
) -> None:
    assert shell.main(line) == 2
    plain = capfd.readouterr()
    assert plain.out == ""
    assert " ".join(said.split()) in " ".join(plain.err.replace("│", " ").split())
    assert shell.main([*line, "--json"]) == 2
    (answer,) = map(json.loads, capfd.readouterr().out.splitlines())
    assert answer["error"] == "usage"
    assert said in answer["hint"]
    assert answer.keys() == {"error", "hint"}
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_a_closed_port_is_status_one_and_one_object(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    dsn = f"postgresql://u:s3cret@127.0.0.1:{free_port()}/d"
    monkeypatch.setenv("NEOSIAN_POSTGRES_DSN", dsn)
    assert shell.main(["prune", "--json", "--older-than", "30d"]) == 1
    written = capfd.readouterr()
    (answer,) = map(json.loads, written.out.splitlines())
    assert answer["error"].startswith("[store_unavailable] ")
    assert answer["hint"] is None
    assert written.err == f"error: {answer['error']}\n"
    assert "s3cret" not in written.err + written.out
