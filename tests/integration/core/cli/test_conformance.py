"""`commonhold conformance` as a program, over the real service on Postgres."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from commonhold.conformance.badges import release
from commonhold.conformance.wire import CASES
from tests.support.mutants.wire import takes_since_for_exclusive
from tests.support.service_process import TOKEN
from tests.support.shell_runs import run_shell
from tests.support.state_process import state_process
from tests.support.wire_proxy import proxy_before

SHOWN_URL = "http://127.0.0.1:6367"


async def test_the_service_passes_as_the_page_shows(
    database_dsn: str, shown_commands: Callable[[str], list[str]]
) -> None:
    (command,) = shown_commands("docs/howto/certify-a-store.md")
    async with _serving(database_dsn) as url:
        status, out, err = await _run(*command.replace(SHOWN_URL, url).split()[1:])
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[-2:] == [
        f"{len(CASES)} passed, 0 failed, 0 not supported",
        f"{url} passes the Commonhold wire kit at {release()}",
    ]
    assert len(lines) == len(CASES) + 2


async def test_a_broken_rule_is_status_1_and_says_where_it_is_written(database_dsn: str) -> None:
    async with _serving(database_dsn) as url, proxy_before(url) as proxy:
        proxy.after = takes_since_for_exclusive
        asked = ("conformance", "--url", proxy.url, "--only", "since")
        status, out, _ = await _run(*asked)
        as_json = await _run(*asked, "--json")
    assert status == as_json[0] == 1
    assert "docs/reference/stores.md, section 4" in out
    assert "1 passed, 1 failed, 0 not supported" in out
    (line,) = as_json[1].splitlines()
    found = json.loads(line)
    assert (found["passed"], found["failed"], found["client"]) == (1, 1, "client:default")
    assert [case["verdict"] for case in found["cases"]] == ["fail", "pass"]


async def test_a_service_that_is_away_is_status_1() -> None:
    status, out, err = await _run("conformance", "--url", "http://127.0.0.1:9", "--json")
    assert status == 1
    assert "does not answer" in json.loads(out)["error"]
    assert "does not answer" in err


async def test_the_token_is_read_from_a_file(database_dsn: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("wrong\n")
    async with _serving(database_dsn) as url:
        status, _, err = await _run(
            *("conformance", "--url", url),
            token=None,
            NEOSIAN_CLIENT_TOKEN_FILE=str(tmp_path / "token"),
        )
    assert (status, "does not accept the token" in err) == (1, True)


@asynccontextmanager
async def _serving(dsn: str) -> AsyncIterator[str]:
    """The URL of a service that answers."""
    async with state_process(dsn) as service:
        await service.until_ops("/readyz", status=200)
        yield f"http://127.0.0.1:{service.port}"


async def _run(
    *arguments: str, token: str | None = TOKEN, **environment: str
) -> tuple[int | None, str, str]:
    given = {} if token is None else {"NEOSIAN_CLIENT_TOKEN": token}
    return await run_shell(*arguments, **given, **environment)
