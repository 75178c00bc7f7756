"""Replicas replaced one by one behind the balancer: with a new token, and onto the pooler."""

import asyncio
import re
import secrets
from collections.abc import Callable

import aiohttp
import pytest

from tests.support.compose_stacks import Stack
from tests.support.processes import wait_until
from tests.support.service_checker import checking

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

REPLICAS = ("state", "gateway", "state-b", "gateway-b")
CALLS = re.compile(
    r'^commonhold_http_requests_total\{.*route="(?:/v1/memory/.*|/mcp)",.*\} (\d+)', re.MULTILINE
)


def test_no_call_fails_while_replicas_take_a_new_token_and_a_pooler_in_between(
    stack: Stack, record_testsuite_property: Callable[[str, object], None]
) -> None:
    old, new = stack.token, secrets.token_hex(32)
    with checking(stack.balanced_doors) as checker:
        checker.wait_for(5)
        (stack.secrets / "serve_token_previous").write_text(old)
        (stack.secrets / "serve_token").write_text(new)
        for replica in REPLICAS:
            _replace(stack, replica, SERVE_DSN="pooled_dsn")
            wait_until(lambda: _serves(stack, replica), f"{replica} gets calls", seconds=60)  # noqa: B023 - called in its turn
        checker.wait_for(5)
    record_testsuite_property("calls_while_replaced", checker.told())
    assert checker.failed() == [], checker.told()
    assert checker.violations() == []
    assert _statuses(stack, old, new) == [200, 200]
    assert _queries_through_the_pooler(stack) > len(checker.acts)

    (stack.secrets / "serve_token_previous").write_text("")
    _replace(stack, *REPLICAS)
    assert _statuses(stack, old, new) == [401, 200]


def _replace(stack: Stack, *replicas: str, **settings: str) -> None:
    """Anew, as a new image or setting has it; returns when they are healthy."""
    options = ("--detach", "--wait", "--no-deps", "--force-recreate")
    stack.compose("up", *options, *replicas, **settings)


def _serves(stack: Stack, replica: str) -> bool:
    port = 9367 if replica.startswith("state") else 9368
    program = (
        "import urllib.request;"
        f"print(urllib.request.urlopen('http://127.0.0.1:{port}/metrics').read().decode())"
    )
    metrics = stack.compose("exec", "-T", replica, "python", "-c", program)
    return any(int(count) for count in CALLS.findall(metrics))


def _statuses(stack: Stack, *tokens: str) -> list[int]:
    """How the two replicas answer a read with each of the tokens."""

    async def ask() -> list[int]:
        body, statuses = {"scope": "stack:rollout", "path": "a"}, []
        async with aiohttp.ClientSession(stack.url("BALANCER_STATE_PORT")) as client:
            for token in tokens:
                headers = {"Authorization": f"Bearer {token}"}
                answers = set()
                for _replica in range(2):
                    async with client.post(
                        "/v1/memory/read", json=body, headers=headers
                    ) as response:
                        answers.add(response.status)
                (status,) = answers
                statuses.append(status)
        return statuses

    return asyncio.run(ask())


def _queries_through_the_pooler(stack: Stack) -> int:
    """As the pooler counts them."""
    program = (
        "PGPASSWORD=$(cat /run/secrets/postgres_serve_password) psql --no-align --tuples-only"
        " --host=pgbouncer --port=6432 --username=commonhold_serve --command='SHOW STATS' pgbouncer"
    )
    rows = stack.compose("exec", "-T", "postgres", "sh", "-c", program).splitlines()
    (row,) = [row.split("|") for row in rows if row.startswith("commonhold|")]
    return int(row[3])
