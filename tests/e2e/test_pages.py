"""What the pages tell people to type in a clone, typed as it stands, against real services."""

import contextlib
import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from commonhold.cli.client_snippets import command_lines, export_token
from commonhold.cli.local_services import DEFAULT_MOUNTS
from tests.support.load.replicas import GATEWAY, Replica, probe, start_replicas
from tests.support.markdown import REPOSITORY, fences
from tests.support.ports import free_port
from tests.support.shells import shell_environment, typed
from tests.support.wire_examples import comparable

TOKEN = "example-token"
SHOWN_URL = "http://127.0.0.1:6367"
SHOWN_MCP_URL = "http://127.0.0.1:6368/mcp"
SHOWN_DSN = "postgresql://user:password@host/database"
SHOWN_PUBLIC_URL = "https://memory.example.org"
PROVIDER_PAGE = "docs/howto/connect-an-identity-provider.md"
CLIENT_PAGE = "docs/howto/connect-a-client.md"
OPERATING = "docs/howto/operate.md"
TIMEOUT_SECONDS = 60

Shown = Callable[[str], list[str]]


@pytest.fixture
def state(database_dsn: str, tmp_path: Path) -> Iterator[Replica]:
    """A state service on a fresh database."""
    with start_replicas(database_dsn, token=TOKEN, logs=tmp_path, count=1) as replicas:
        yield replicas[0]


@pytest.fixture
def gateway(database_dsn: str, tmp_path: Path) -> Iterator[Replica]:
    """A gateway on a fresh database."""
    mounts = {"COMMONHOLD_GATEWAY_MOUNTS": DEFAULT_MOUNTS}
    with start_replicas(
        database_dsn, token=TOKEN, logs=tmp_path, count=1, settings=mounts, service=GATEWAY
    ) as replicas:
        yield replicas[0]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with what a clone has after `make setup`, and the token of a run in it."""
    place = tmp_path / "clone"
    (place / ".commonhold").mkdir(parents=True)
    (place / ".commonhold/token").write_text(f"{TOKEN}\n")
    (place / ".venv").symlink_to(sys.prefix)
    (place / "examples").symlink_to(REPOSITORY / "examples")
    return place


def _paste(script: str, *, clone: Path, shown: str, actual: str) -> str:
    """Type it with this address instead of the one that is shown."""
    assert shown in script
    given = {"PYTHONWARNINGS": "error"}
    return typed(script.replace(shown, actual), folder=clone, given=given)


def _post(replica: Replica, route: str, body: str) -> None:
    netloc = urlsplit(_url(replica)).netloc
    connection = http.client.HTTPConnection(netloc, timeout=TIMEOUT_SECONDS)
    connection.request("POST", f"/v1/{route}", body, {"Authorization": f"Bearer {TOKEN}"})
    assert connection.getresponse().status == 200
    connection.close()


def _url(replica: Replica) -> str:
    return f"http://127.0.0.1:{replica.port}"


def test_the_first_request_of_the_readme(
    state: Replica, clone: Path, shown_commands: Shown
) -> None:
    (script,) = shown_commands("README.md")
    answer = _paste(script, clone=clone, shown=SHOWN_URL, actual=_url(state))
    shown = fences((REPOSITORY / "README.md").read_text(), "json")[0].strip()
    assert comparable([answer.encode()]) == comparable([shown.encode()])


def test_the_first_look_of_the_operators_page(
    state: Replica, clone: Path, shown_commands: Shown
) -> None:
    script = shown_commands(OPERATING)[0].replace("localhost:6367", f"localhost:{state.port}")
    shown, actual = "localhost:9367", f"localhost:{state.ops_port}"
    said = _paste(script, clone=clone, shown=shown, actual=actual)
    for good in ('"ready"', "commonhold_database_up 1.0\n", '{"status":"ok"}'):
        assert good in said


def test_the_erasure_of_the_operators_page(
    state: Replica, clone: Path, shown_commands: Shown
) -> None:
    _post(state, "memory/write", '{"scope":"user:ada","path":"a","content":"mark"}')
    turn = '{"conversation_id":"ada-1","messages":[{"role":"user","content":"mark"}]}'
    _post(state, "conversation/append_turn", turn)
    script = "\n".join(shown_commands(OPERATING))
    answers = _paste(script, clone=clone, shown=SHOWN_URL, actual=_url(state)).splitlines()
    assert answers[:2] == ['{"count":1}', '{"count":1}']
    assert len(answers) == 6
    assert all("ops" in answer for answer in (answers[2], answers[4]))
    assert "mark" not in "".join(answers)


def test_the_client_of_the_page(state: Replica, clone: Path, shown_commands: Shown) -> None:
    (script,) = shown_commands("docs/howto/write-a-client.md")
    said = _paste(script, clone=clone, shown=SHOWN_URL, actual=_url(state))
    scope = re.search(r"scope '([^']+)'", said)
    assert scope is not None, said
    conflict = f"Memory conflict on 'notes/kettle' in scope '{scope[1]}'"
    assert said.splitlines() == [
        f"refused: [memory_conflict] {conflict}: version_mismatch; the live version is 2",
        "v2 modified by client:default: 'off\\n'",
        "v1 created by client:default: 'on\\n'",
        "turn 1 recorded, 1 found",
        "erased 1 path and 1 turn; what is left: ''",
    ]


def test_the_client_of_the_protocol(gateway: Replica, clone: Path, shown_commands: Shown) -> None:
    export, script = shown_commands(CLIENT_PAGE)
    assert export == f"{export_token('.commonhold/token')}\n"
    said = _paste(export + script, clone=clone, shown=SHOWN_MCP_URL, actual=gateway.mcp_url)
    tools, *answers = said.splitlines()
    assert tools.startswith("tools: memory, list_skills, load_skill")
    assert answers == [
        "Created /user/notes/kettle (v1)",
        "Edited /user/notes/kettle (v2)",
        "failed: old_str did not appear verbatim in /user/notes/kettle",
        "/user/notes/kettle (v2):",
        "1: off",
        "2: ",
        "Deleted /user/notes/kettle",
    ]


def test_the_commands_of_other_programs_are_those_that_a_local_run_prints() -> None:
    shown = "".join(fences((REPOSITORY / CLIENT_PAGE).read_text(), "sh")).splitlines()
    others = [line for line in shown if line.startswith(("claude", "codex"))]
    assert others == [*command_lines(SHOWN_MCP_URL)]


@pytest.mark.parametrize(("service", "page"), [("state", 0), ("gateway", 1)])
def test_a_service_alone(
    empty_database_dsn: str, clone: Path, shown_commands: Shown, service: str, page: int
) -> None:
    pages = [f"services/{name}/README.md" for name in ("state", "gateway")]
    (script,) = [shown_commands(name) for name in pages][page]
    ops = free_port()
    listens = f"COMMONHOLD_{service.upper()}"
    log = clone / "log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            ["sh", "-eu", "-c", script.replace(SHOWN_DSN, empty_database_dsn)],
            cwd=clone,
            env={
                **shell_environment(),
                f"{listens}_LISTEN": f"127.0.0.1:{free_port()}",
                f"{listens}_OPS_LISTEN": f"127.0.0.1:{ops}",
            },
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while probe(ops, "/readyz") != 200:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_the_migration_of_the_operators_page(
    empty_database_dsn: str, clone: Path, shown_commands: Shown
) -> None:
    (script,) = shown_commands(OPERATING)
    given = f"export NEOSIAN_POSTGRES_DSN={SHOWN_DSN}\n"
    said = _paste(given + script, clone=clone, shown=SHOWN_DSN, actual=empty_database_dsn)
    assert re.search(r"^CREATE TABLE .*documents", said, re.MULTILINE)
    check = f"NEOSIAN_POSTGRES_DSN={SHOWN_DSN} commonhold migrate --check"
    again = _paste(check, clone=clone, shown=SHOWN_DSN, actual=empty_database_dsn)
    assert again == "schema 'commonhold' fits this release\n"


def test_the_identity_provider_of_the_page(
    database_dsn: str, tmp_path: Path, clone: Path, shown_commands: Shown
) -> None:
    settings, trying = shown_commands(PROVIDER_PAGE)
    clients = clone / "clients.toml"
    clients.write_text(fences((REPOSITORY / PROVIDER_PAGE).read_text(), "toml")[0])
    chosen = settings.replace("/etc/commonhold/clients.toml", str(clients))
    given = dict(line.split("=", 1) for line in chosen.splitlines())
    # What a proxy in front would pass on.
    proxied = trying.replace("curl", "curl --header Host:memory.example.org")
    with start_replicas(
        database_dsn, token=TOKEN, logs=tmp_path, count=1, settings=given, service=GATEWAY
    ) as replicas:
        said = _paste(proxied, clone=clone, shown=SHOWN_PUBLIC_URL, actual=_url(replicas[0]))
    assert '"authorization_servers":["https://id.example.org/realms/acme"]' in said
    assert "resource_metadata=" in said
