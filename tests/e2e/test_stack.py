"""The stack of docker-compose.yml as an operator meets it: started, asked, scraped."""

import asyncio
import json
import os
import re
import signal
import socket
import ssl
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from tests.support.compose_stacks import Stack, prepared_stack, run
from tests.support.helm import CHART
from tests.support.processes import wait_until
from tests.support.promql import metrics_of, recorded_in
from tests.support.repository import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

# A minute where the machine has nothing else to do.
START_SECONDS = 240
STATE_IMAGE_BYTES = 200_000_000
NUMERIC_USER = "10001"
REPLICAS = ("state", "state-b", "gateway", "gateway-b")
RULES = yaml.safe_load((CHART / "files/rules/commonhold.yml").read_text())["groups"]
BOARDS = sorted((CHART / "files/dashboards").glob("*.json"))


def test_it_is_healthy_soon(
    stack: Stack, record_testsuite_property: Callable[[str, object], None]
) -> None:
    health = {
        name: container["State"].get("Health", {}).get("Status")
        for name, container in stack.containers().items()
    }
    names = ("postgres", "maintenance", "balancer", "edge", "pgbouncer", "prometheus")
    expected = dict.fromkeys((*names, *REPLICAS, "alertmanager"), "healthy")
    assert health == {**expected, "migrate": None}
    record_testsuite_property("stack_start_seconds", round(stack.start_seconds, 1))
    assert stack.start_seconds < START_SECONDS


def test_the_image_is_small_and_starts_at_once(
    stack: Stack, record_testsuite_property: Callable[[str, object], None]
) -> None:
    size = run(["docker", "image", "inspect", "--format={{.Size}}", "commonhold-state:local"], {})
    assert int(size) < STATE_IMAGE_BYTES
    started = datetime.fromisoformat(stack.containers()["state"]["State"]["StartedAt"])
    events = [
        json.loads(line) for line in stack.compose("logs", "--no-log-prefix", "state").splitlines()
    ]
    ready = next(event["timestamp"] for event in events if event["event"] == "ready")
    seconds = (datetime.fromisoformat(ready) - started).total_seconds()
    record_testsuite_property("state_cold_start_seconds", seconds)
    # Under two seconds where the machine has nothing else to do.
    assert 0 < seconds < START_SECONDS


def test_it_publishes_on_loopback_alone(stack: Stack) -> None:
    config = json.loads(stack.compose("--profile", "*", "config", "--format", "json"))
    published = [
        port for service in config["services"].values() for port in service.get("ports", ())
    ]
    assert {port["host_ip"] for port in published} == {"127.0.0.1"}


@pytest.mark.parametrize("service", ["state", "gateway", "maintenance"])
def test_a_service_runs_as_nobody_who_could_write_to_its_image(stack: Stack, service: str) -> None:
    probe = "import os; print(os.getuid()); open('/venv/planted', 'w')"
    with pytest.raises(subprocess.CalledProcessError) as refused:
        stack.compose("exec", "-T", service, "python", "-c", probe)
    assert refused.value.stdout.strip() == NUMERIC_USER
    assert "Read-only file system" in refused.value.stderr


def test_no_container_runs_as_root(stack: Stack) -> None:
    users = {name: one["Config"]["User"] for name, one in stack.containers().items()}
    assert [name for name, user in users.items() if user.split(":")[0] in {"", "0", "root"}] == []


def test_no_secret_is_in_what_the_engine_tells_of_a_container(stack: Stack) -> None:
    secrets = [path.read_text() for path in stack.secrets.iterdir() if path.name != "edge.names"]
    told = json.dumps(stack.containers())
    assert [text for text in secrets if text and json.dumps(text)[1:-1] in told] == []


def test_the_service_cannot_change_the_schema(stack: Stack) -> None:
    drop = "SET ROLE commonhold_serve; DROP TABLE commonhold.documents"
    command = ("psql", "--username=commonhold", "--dbname=commonhold", f"--command={drop}")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        stack.compose("exec", "-T", "postgres", *command)
    assert "must be owner of table documents" in refused.value.stderr


def test_smoke_goes_through_every_service(stack: Stack) -> None:
    said = stack.make("smoke").splitlines()
    assert [line for line in said if not line.startswith("ok: ")] == []
    assert [line for line in said if line.endswith(":9369 is ready")]
    assert len([line for line in said if line.endswith("is redacted")]) == 2


@pytest.mark.parametrize(("state", "gateway"), [("state-b", "gateway-b"), ("balancer", "balancer")])
def test_smoke_goes_through_the_second_replicas_and_the_balancer(
    stack: Stack, state: str, gateway: str
) -> None:
    doors = f"SMOKE_STATE={state}:6367", f"SMOKE_GATEWAY={gateway}:6368"
    assert stack.make("smoke", *doors).count("is redacted") == 2


async def test_the_edge_is_who_its_authority_says_and_serves_both_doors(stack: Stack) -> None:
    url = f"https://localhost:{stack.port('EDGE_PORT')}"
    trusting = ssl.create_default_context(cafile=stack.secrets / "ca.pem")
    async with aiohttp.ClientSession(url, headers=stack.headers) as client:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await client.get("/health")
        written = {"scope": "stack:tls", "path": "a", "content": "x"}
        async with client.post("/v1/memory/write", json=written, ssl=trusting) as response:
            assert response.status == 200
        # Not JSON-RPC: the gateway's own refusal.
        async with client.post("/mcp", json=[], ssl=trusting) as response:
            assert response.status in {400, 406}
    with pytest.raises(aiohttp.ClientError):
        async with aiohttp.ClientSession() as client:
            await client.get(url.replace("https:", "http:"))


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1:DeprecationWarning")
@pytest.mark.parametrize(
    ("version", "spoken"),
    [
        (ssl.TLSVersion.TLSv1, None),
        (ssl.TLSVersion.TLSv1_1, None),
        (ssl.TLSVersion.TLSv1_2, "TLSv1.2"),
        (ssl.TLSVersion.TLSv1_3, "TLSv1.3"),
    ],
)
def test_the_edge_speaks_no_tls_below_1_2(
    stack: Stack, version: ssl.TLSVersion, spoken: str | None
) -> None:
    offering = ssl.create_default_context(cafile=stack.secrets / "ca.pem")
    # The library would not offer the old ones by itself.
    offering.set_ciphers("ALL:@SECLEVEL=0")
    offering.minimum_version = offering.maximum_version = version
    with socket.create_connection(("127.0.0.1", stack.port("EDGE_PORT")), timeout=30) as plain:
        if spoken is None:
            with pytest.raises(ssl.SSLError) as refused:
                offering.wrap_socket(plain, server_hostname="localhost")
            assert refused.value.reason == "TLSV1_ALERT_PROTOCOL_VERSION"
        else:
            with offering.wrap_socket(plain, server_hostname="localhost") as connection:
                assert connection.version() == spoken


def test_logs_are_those_of_every_service_and_go_on(stack: Stack, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def shown() -> set[str]:
        # It is being written, and may end within a character.
        return set(re.findall(r"^([a-z-]+)-1 +\| ", log.read_text(errors="replace"), re.MULTILINE))

    with log.open("wb") as output:
        following = subprocess.Popen(
            ["make", "logs"],
            cwd=ROOT,
            env={**os.environ, **stack.environment},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        names = {*REPLICAS, "postgres", "migrate", "maintenance", "prometheus", "alertmanager"}
        wait_until(lambda: shown() >= names, "every service is in the logs", seconds=120)
        assert following.poll() is None
    finally:
        os.killpg(following.pid, signal.SIGKILL)
        following.wait()


async def test_prometheus_scrapes_every_replica_and_knows_whom_to_alert(stack: Stack) -> None:
    async with aiohttp.ClientSession(stack.prometheus_url) as client, asyncio.timeout(60):
        while True:
            targets = (await _asked(client, "targets"))["activeTargets"]
            if {target["health"] for target in targets} == {"up"}:
                break
            await asyncio.sleep(0.5)
        managers = (await _asked(client, "alertmanagers"))["activeAlertmanagers"]
        seen = {target["labels"]["instance"].partition(":")[0] for target in targets}
    assert seen == {*REPLICAS, "maintenance"}
    assert [manager["url"] for manager in managers] == ["http://alertmanager:9093/api/v2/alerts"]


async def test_every_metric_that_an_alert_asks_for_is_there(stack: Stack) -> None:
    expressions = [rule["expr"] for group in RULES for rule in group["rules"]]
    names = {name for text in expressions for name, _labels in metrics_of(text)}
    families = {re.sub("_(bucket|count|sum)$", "", name) for name in names}
    assert len(families) > 10
    # Told by a gateway or a worker over a state service, which has none of a database.
    families.remove("commonhold_state_up")
    async with aiohttp.ClientSession(stack.prometheus_url) as client, asyncio.timeout(60):
        while True:
            if families <= set(await _asked(client, "metadata")):
                return
            await asyncio.sleep(0.5)


@pytest.mark.parametrize("board", BOARDS, ids=lambda path: path.stem)
async def test_prometheus_answers_every_query_of_a_dashboard(stack: Stack, board: Any) -> None:
    panels = [panel for panel in json.loads(board.read_text())["panels"] if "targets" in panel]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    shown = 0
    async with aiohttp.ClientSession(stack.prometheus_url) as client:
        for query in queries:
            asked = query.replace("$__rate_interval", "1m")
            asked = re.sub(r"\$(?:job|instance)\b", ".+", asked)
            assert "$" not in asked
            answer = await _asked(client, "query", query=asked)
            shown += bool(answer["result"]) or bool(recorded_in(query))
    # Rates of what has not happened are empty; most of a dashboard is not.
    assert shown > len(queries) / 3


def test_without_a_credential_it_stops_and_says_which() -> None:
    with prepared_stack() as stack:
        (stack.secrets / "postgres_password").unlink()
        with pytest.raises(subprocess.CalledProcessError) as refused:
            stack.compose("up", "--detach", "postgres")
    assert "secrets/postgres_password" in refused.value.stderr.replace(
        str(stack.secrets), "secrets"
    )
    assert "does not exist" in refused.value.stderr


async def _asked(client: aiohttp.ClientSession, what: str, **parameters: str) -> Any:
    async with client.get(f"/api/v1/{what}", params=parameters) as response:
        answer = await response.json()
    assert answer["status"] == "success", answer
    return answer["data"]
