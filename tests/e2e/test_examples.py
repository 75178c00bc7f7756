"""What the documents show beside commands is run as it stands: exchanges, programs, a kit."""

import contextlib
import http
import http.client
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from commonhold.cli.client_snippets import mcp_servers
from tests.support.load.replicas import start_replicas
from tests.support.markdown import REPOSITORY, fences, reference, section
from tests.support.wire_examples import Exchange, comparable, conversations

TOKEN = "example-token"
SHOWN_MCP_URL = "http://127.0.0.1:6368/mcp"
TIMEOUT_SECONDS = 60


@pytest.fixture
def url(database_dsn: str, tmp_path: Path) -> Iterator[str]:
    """A service on a fresh database."""
    with start_replicas(database_dsn, token=TOKEN, logs=tmp_path, count=1) as replicas:
        yield f"http://127.0.0.1:{replicas[0].port}"


@pytest.mark.parametrize(("title", "exchanges"), conversations().items())
def test_the_exchanges_of_the_wire_are_answered_as_shown(
    url: str, title: str, exchanges: list[Exchange]
) -> None:
    answers = [_post(url, exchange) for exchange in exchanges]
    assert comparable(answers) == comparable([exchange.answer for exchange in exchanges])


@pytest.mark.parametrize("page", ["README.md", "docs/howto/connect-a-client.md"])
def test_a_page_shows_the_snippets_that_a_local_run_prints(page: str) -> None:
    text = (REPOSITORY / page).read_text()
    assert f"{mcp_servers(SHOWN_MCP_URL)}\n" in fences(text, "json")


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
