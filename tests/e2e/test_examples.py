"""What the documents show is run as it stands, against a service on a real Postgres."""

import contextlib
import http
import http.client
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from commonhold.cli.client_snippets import command_lines, export_token, mcp_servers
from commonhold.cli.local_services import DEFAULT_MOUNTS
from tests.support.load.replicas import GATEWAY, start_replicas
from tests.support.markdown import REPOSITORY, fences, reference, section
from tests.support.wire_examples import Exchange, comparable, conversations

TOKEN = "example-token"
SHOWN_URL = "http://127.0.0.1:6367"
SHOWN_MCP_URL = "http://127.0.0.1:6368/mcp"
TIMEOUT_SECONDS = 60


@pytest.fixture
def url(database_dsn: str, tmp_path: Path) -> Iterator[str]:
    """A service on a fresh database."""
    with start_replicas(database_dsn, token=TOKEN, logs=tmp_path, count=1) as replicas:
        yield f"http://127.0.0.1:{replicas[0].port}"


@pytest.fixture
def mcp_url(database_dsn: str, tmp_path: Path) -> Iterator[str]:
    """A gateway on a fresh database."""
    mounts = {"COMMONHOLD_GATEWAY_MOUNTS": DEFAULT_MOUNTS}
    with start_replicas(
        database_dsn, token=TOKEN, logs=tmp_path, count=1, settings=mounts, service=GATEWAY
    ) as replicas:
        yield replicas[0].mcp_url


@pytest.mark.parametrize(("title", "exchanges"), conversations().items())
def test_the_exchanges_of_the_wire_are_answered_as_shown(
    url: str, title: str, exchanges: list[Exchange]
) -> None:
    answers = [_post(url, exchange) for exchange in exchanges]
    assert comparable(answers) == comparable([exchange.answer for exchange in exchanges])


def test_the_first_request_of_the_readme_works_as_pasted(url: str, tmp_path: Path) -> None:
    page = (REPOSITORY / "README.md").read_text()
    answer = _run_shell(fences(page, "sh")[0], url=url, folder=tmp_path)
    shown = fences(page, "json")[0].strip()
    assert comparable([answer.encode()]) == comparable([shown.encode()])


def test_the_erasure_of_the_operators_page_works_as_pasted(url: str, tmp_path: Path) -> None:
    _post(url, Exchange("memory/write", b'{"scope":"user:ada","path":"a","content":"mark"}', b""))
    turn = b'{"conversation_id":"ada-1","messages":[{"role":"user","content":"mark"}]}'
    _post(url, Exchange("conversation/append_turn", turn, b""))
    page = (REPOSITORY / "docs/howto/operate.md").read_text()
    title = "Erasing someone's data, and proving it"
    blocks = re.findall(r"```sh\n(.*?)```", section(page, title), re.DOTALL)
    answers = _run_shell("\n".join(blocks), url=url, folder=tmp_path).splitlines()
    assert answers[:2] == ['{"count":1}', '{"count":1}']
    assert len(answers) == 6
    assert all("ops" in answer for answer in (answers[2], answers[4]))
    assert "mark" not in "".join(answers)


def test_the_client_runs_to_its_end(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", REPOSITORY / "examples/wire_client.py", url],
        env={"PATH": os.environ["PATH"], "NEOSIAN_CLIENT_TOKEN": TOKEN},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    conflict = f"Memory conflict on 'notes/kettle' in scope '{_scope(done.stdout)}'"
    assert done.stdout.splitlines() == [
        f"refused: [memory_conflict] {conflict}: version_mismatch; the live version is 2",
        "v2 modified by client:default: 'off\\n'",
        "v1 created by client:default: 'on\\n'",
        "turn 1 recorded, 1 found",
        "erased 1 path and 1 turn; what is left: ''",
    ]


def test_the_client_of_the_protocol_runs_to_its_end(mcp_url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", REPOSITORY / "examples/mcp_client.py", mcp_url],
        env={"PATH": os.environ["PATH"], "NEOSIAN_CLIENT_TOKEN": TOKEN},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    tools, *answers = done.stdout.splitlines()
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


@pytest.mark.parametrize("page", ["README.md", "docs/howto/connect-a-client.md"])
def test_a_page_shows_the_snippets_that_a_local_run_prints(page: str) -> None:
    text = (REPOSITORY / page).read_text()
    assert f"{mcp_servers(SHOWN_MCP_URL)}\n" in fences(text, "json")


def test_the_commands_of_the_page_are_those_that_a_local_run_prints() -> None:
    page = (REPOSITORY / "docs/howto/connect-a-client.md").read_text()
    shown = "".join(fences(page, "sh")).splitlines()
    assert [*command_lines(SHOWN_MCP_URL), export_token(".commonhold/token")] == sorted(
        line for line in shown if line.startswith(("claude", "codex", "export"))
    )


def test_the_kit_of_the_reference_runs_as_shown(tmp_path: Path) -> None:
    module = tmp_path / "test_my_store.py"
    module.write_text(fences(section(reference("kits.md"), "1. Running a kit"), "python")[0])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", module],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    assert re.search(r"^\d+ passed in", done.stdout, re.MULTILINE), done.stdout


def _post(url: str, exchange: Exchange) -> bytes:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_SECONDS)
    with contextlib.closing(connection):
        headers = {"Authorization": f"Bearer {TOKEN}"}
        connection.request("POST", f"/v1/{exchange.route}", exchange.request, headers)
        answer = connection.getresponse()
        assert answer.status == http.HTTPStatus.OK
        return answer.read()


def _run_shell(script: str, *, url: str, folder: Path) -> str:
    """Run what a reader pastes in a clone, against this service instead of `make run`'s."""
    place = folder / ".commonhold"
    place.mkdir()
    (place / "token").write_text(f"{TOKEN}\n")
    assert SHOWN_URL in script
    done = subprocess.run(
        ["sh", "-eu", "-c", script.replace(SHOWN_URL, url)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=TIMEOUT_SECONDS,
    )
    return done.stdout


def _scope(transcript: str) -> str:
    found = re.search(r"scope '([^']+)'", transcript)
    assert found is not None, transcript
    return found[1]
