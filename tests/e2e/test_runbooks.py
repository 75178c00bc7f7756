"""Runbooks, alerts and dashboards against the three services as they run on a real Postgres.

The first three commands of every runbook are typed as they stand, with a stand-in for kubectl
that runs in the place of a pod.
"""

import asyncio
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import yaml

from commonhold.cli.postgres_binaries import installed_prefix
from tests.support import kubectl_stand_in
from tests.support.gateway_process import gateway_process
from tests.support.helm import CHART, FULL, render
from tests.support.maintenance_process import EVERY_DAY, maintenance_process, until_event
from tests.support.promql import metrics_of
from tests.support.raw_http import request_bytes
from tests.support.repository import ROOT
from tests.support.service_process import TOKEN, ServiceProcess
from tests.support.state_process import post, state_process

RELEASE, NAMESPACE = "memory", "memory"
COMMANDS = 3
SHOWN = {"state": "request_rejected", "gateway": "request_rejected", "maintenance": "upkeep_pass"}
# So that the gateway has what it says of access tokens.
ISSUER = """
[[issuers]]
name = "acme"
issuer = "https://id.example.org"
client = "user:{sub}"
mounts = [{ scope = "user:{sub}", path = "user" }]
"""
SQL = re.compile(r'^psql "\$OWNER_DSN" -c "(.+)"$', re.MULTILINE)
LARGE = {"documents", "document_versions", "conversations", "turns", "projections", "idempotency"}
# A place in an index is found by its first column.
LEADING = re.compile(r"\b(scope|conversation_id|client) [=>]")
PARTS = ("bucket", "count", "sum")
BRIEF = {"COMMONHOLD_BODY_TIMEOUT_SECONDS": "1"}


@pytest.fixture
async def services(database_dsn: str, tmp_path: Path) -> AsyncIterator[dict[str, ServiceProcess]]:
    """All three, each with a warning in its log, and the state service with a failure behind it."""
    gardens = tmp_path / "gardens.toml"
    gardens.write_text(EVERY_DAY)
    clients = tmp_path / "clients.toml"
    clients.write_text(ISSUER)
    public = {
        "COMMONHOLD_GATEWAY_CLIENTS": str(clients),
        "COMMONHOLD_GATEWAY_PUBLIC_URL": "https://mcp.example.org/mcp",
    }
    async with AsyncExitStack() as stack:
        running = {
            "state": await stack.enter_async_context(state_process(database_dsn, settings=BRIEF)),
            "gateway": await stack.enter_async_context(
                gateway_process(database_dsn, settings={**BRIEF, **public})
            ),
            "maintenance": await stack.enter_async_context(
                maintenance_process(database_dsn, gardens)
            ),
        }
        for service in running.values():
            await service.until_ops("/readyz", status=200)
        await asyncio.gather(
            _send_no_body(running["state"], "/v1/memory/read"),
            _send_no_body(running["gateway"], "/mcp"),
            _fail(database_dsn, running["state"]),
        )
        # What a log has to show has come through its pipe.
        for component, event in SHOWN.items():
            await until_event(running[component], event)
        yield running


async def _send_no_body(service: ServiceProcess, path: str) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "host": "127.0.0.1"}
    head = request_bytes("POST", path, headers=headers, length=10)
    async with await service.connect() as connection:
        assert (await connection.ask(head)).status == 408


async def _fail(dsn: str, service: ServiceProcess) -> None:
    """Have a statement meet a rule that is not in our schema."""
    connection = await asyncpg.connect(dsn)
    table = "ALTER TABLE commonhold.conversations"
    try:
        await connection.execute(f"{table} ADD CONSTRAINT stray CHECK (last_turn < 0)")
        turn = {"conversation_id": "c", "messages": [{"role": "user", "content": "x"}]}
        answer = await post(service, "conversation/append_turn", turn)
        await connection.execute(f"{table} DROP CONSTRAINT stray")
    finally:
        await connection.close()
    assert answer.status == 500


@pytest.fixture
def shell(
    services: Mapping[str, ServiceProcess], database_dsn: str, tmp_path: Path
) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Run a script where psql is, kubectl's stand-in, and what the runbooks take for given."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "psql").symlink_to(installed_prefix() / "bin/psql")
    kubectl = programs / "kubectl"
    kubectl.write_text(f'#!/bin/sh\nexec {sys.executable} {kubectl_stand_in.__file__} "$@"\n')
    kubectl.chmod(kubectl.stat().st_mode | stat.S_IXUSR)
    known = tmp_path / "stand-ins.json"
    known.write_text(json.dumps(_stand_ins(services, tmp_path)))
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "STAND_INS": str(known),
        "PAGER": "cat",
        "OWNER": database_dsn,
    }

    def run(script: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-eu", "-c", script]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    return run


def _stand_ins(services: Mapping[str, ServiceProcess], folder: Path) -> dict[str, Any]:
    chart = render(FULL, "fullnameOverride=", release=RELEASE)
    job = chart.job()
    pods = {"migrate": job["spec"]["template"]["metadata"]["labels"]}
    logs = {"migrate": folder / "migrate.log"}
    logs["migrate"].write_text("the schema is at its version already\n")
    ports = {}
    for component, service in services.items():
        deployment = chart.deployment(component)
        pods[component] = deployment["spec"]["template"]["metadata"]["labels"]
        shown = {
            port["name"]: port["containerPort"] for port in chart.container(component)["ports"]
        }
        ports[deployment["metadata"]["name"]] = (shown["ops"], service.ops_port)
        logs[component] = folder / f"{component}.log"
        logs[component].write_text("\n".join(service.lines))
    return {
        "namespace": NAMESPACE,
        "pods": pods,
        "ports": ports,
        "logs": {component: str(path) for component, path in logs.items()},
        "autoscalers": list(chart.kind("HorizontalPodAutoscaler")),
    }


async def test_every_command_of_the_runbooks_runs_and_finds_something(
    shell: Callable[[str], subprocess.CompletedProcess[str]],
    shown_commands: Callable[[str], list[str]],
) -> None:
    (given,) = shown_commands("docs/runbooks/README.md")
    given = given.replace("postgresql://...", '"$OWNER"')
    found: dict[str, subprocess.CompletedProcess[str]] = {}
    faults = []
    pages = sorted((ROOT / "docs/runbooks").glob("Commonhold*.md"))
    for page in pages:
        (block,) = shown_commands(f"docs/runbooks/{page.name}")
        commands = block.splitlines()
        assert len(commands) == COMMANDS, page.name
        for command in commands:
            if command not in found:
                found[command] = await asyncio.to_thread(shell, given + command)
            done = found[command]
            if done.returncode != 0 or not done.stdout.strip():
                faults.append(f"{page.name}: {command}\n{done.returncode} {done.stderr}")
    assert faults == []


async def test_no_command_of_the_runbooks_reads_the_whole_of_a_large_table(
    database_dsn: str,
) -> None:
    connection = await asyncpg.connect(database_dsn)
    # A test's tables are so small that reading all of one is what a planner would do.
    await connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
    asked = 0
    for page in sorted((ROOT / "docs/runbooks").glob("Commonhold*.md")):
        for statement in SQL.findall(page.read_text()):
            plan = json.loads(await connection.fetchval(f"EXPLAIN (FORMAT JSON) {statement}"))
            reads = [node for node in _nodes(plan[0]["Plan"]) if node.get("Relation Name") in LARGE]
            asked += len(reads)
            faults = [node for node in reads if not LEADING.search(node.get("Index Cond", ""))]
            assert faults == [], page.name
    await connection.close()
    assert asked


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


async def test_every_query_asks_for_a_metric_that_a_service_exposes(
    services: Mapping[str, ServiceProcess], tmp_path: Path
) -> None:
    upstream = {
        "COMMONHOLD_STATE_URL": f"http://127.0.0.1:{services['state'].port}",
        "NEOSIAN_CLIENT_TOKEN": TOKEN,
    }
    over_a_service = maintenance_process(None, tmp_path / "gardens.toml", settings=upstream)
    exposed: set[str] = set()
    async with over_a_service as worker:
        await worker.until_ops("/readyz", status=200)
        for service in (*services.values(), worker):
            exposed |= set(_series_of((await service.ops("/metrics")).text))
    asked = {name for expression in _queries() for name, _labels in metrics_of(expression)}
    assert len(asked) > 20
    assert asked - exposed == set()


def _series_of(text: str) -> Iterator[str]:
    for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE):
        yield from ((f"{name}_{part}" for part in PARTS) if kind == "histogram" else (name,))


def _queries() -> Iterator[str]:
    for path in CHART.glob("files/dashboards/*.json"):
        panels = json.loads(path.read_text())["panels"]
        yield from (target["expr"] for panel in panels for target in panel.get("targets", []))
    for path in CHART.glob("files/rules/*.yml"):
        groups = yaml.safe_load(path.read_text())["groups"]
        yield from (rule["expr"] for group in groups for rule in group["rules"])
