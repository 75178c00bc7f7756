"""The program from outside: starting, being ready, draining, refusing to start."""

import json
import signal
import socket
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import pytest

from commonhold.migrations import SCHEMA_VERSION, migrate
from tests.support.gateway_process import (
    HEADERS,
    ask,
    assert_does_not_start,
    call,
    call_bytes,
    gateway_process,
)
from tests.support.gateway_service import called, reply_of
from tests.support.raw_http import request_bytes
from tests.support.service_process import TOKEN

# An error that says nothing of whether the database can be used: a defect, to be found in the log.
REFUSE_EVERY_VERSION = """
    CREATE FUNCTION commonhold.refuse() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON commonhold.document_versions
        FOR EACH ROW EXECUTE FUNCTION commonhold.refuse();
"""


async def test_it_serves_and_says_what_it_does(database_dsn: str) -> None:
    async with gateway_process(database_dsn) as service:
        await service.until_ops("/readyz", status=200)
        assert (await service.ops("/livez")).status == 200
        created = await call(service, "memory", command="create", path="/user/a", content="x")
        assert created == "Created /user/a (v1)"
        assert (
            await call(service, "memory", command="view", path="/user/a") == "/user/a (v1):\n1: x"
        )
        assert (await call(service, "memory", command="look")).startswith("Invalid arguments")
        # A request is counted once it has ended, which its answer may outrun.
        counted = 'commonhold_http_requests_total{route="/mcp",service="gateway",status="200"} 3.0'
        metrics = (await service.until_ops("/metrics", status=200, holding=counted)).text
        for line in (
            'commonhold_tool_calls_total{outcome="ok",tool="memory"} 2.0',
            'commonhold_tool_calls_total{outcome="invalid",tool="memory"} 1.0',
            'commonhold_tool_call_duration_seconds_count{tool="memory"} 3.0',
            "commonhold_database_up 1.0",
            "commonhold_ready 1.0",
            'commonhold_in_flight{service="gateway"} 0.0',
            f"commonhold_schema_version {float(SCHEMA_VERSION)}",
        ):
            assert line in metrics


async def test_a_stop_finishes_the_call_that_runs_and_takes_nothing_new(
    database_dsn: str,
) -> None:
    async with AsyncExitStack() as stack, gateway_process(database_dsn) as service:
        await service.until_ops("/readyz", status=200)
        await call(service, "memory", command="create", path="/user/a", content="x")
        idle, running = await service.connect(), await service.connect()
        stack.push_async_callback(idle.close)
        stack.push_async_callback(running.close)
        assert (await idle.ask(request_bytes("GET", "/health"))).status == 200
        blocker = await asyncpg.connect(database_dsn)
        stack.push_async_callback(blocker.close)
        lock = blocker.transaction()
        await lock.start()
        await blocker.execute("SELECT 1 FROM commonhold.documents FOR UPDATE")
        edit = {"command": "str_replace", "path": "/user/a", "old_str": "x", "new_str": "y"}
        await running.send(call_bytes("memory", edit))
        await until_waiting_for_a_lock(database_dsn)
        service.signal(signal.SIGTERM)
        await service.until_refused()
        assert await idle.read_to_end() == b""
        unready = await service.ops("/readyz")
        assert (unready.status, "draining" in unready.text) == (503, True)
        await lock.rollback()
        answer = await running.read_answer()
        assert called(reply_of(answer)["result"]).text == "Edited /user/a (v2)"
        assert await service.exit_status() == 0
        assert [event["level"] for event in service.events("stopped")] == ["info"]
        assert not [line for line in service.lines if "Traceback" in line]


async def until_waiting_for_a_lock(dsn: str) -> None:
    """Wait until some statement of the gateway waits for a row."""
    watcher = await asyncpg.connect(dsn)
    try:
        while not await watcher.fetchval(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE application_name = 'commonhold' AND wait_event_type = 'Lock'"
        ):
            pass
    finally:
        await watcher.close()


async def test_a_missing_schema_is_waited_for(empty_database_dsn: str) -> None:
    async with gateway_process(empty_database_dsn) as service:
        unready = await service.until_ops("/readyz", status=503, holding="migrate")
        assert "commonhold migrate" in unready.text
        assert (await ask(service, call_bytes("list_skills", {}))).status == 503
        await migrate(empty_database_dsn, schema="commonhold")
        await service.until_ops("/readyz", status=200)
        assert (await ask(service, call_bytes("list_skills", {}))).status == 200


async def test_what_fails_inside_is_logged_under_the_requests_id(database_dsn: str) -> None:
    async with gateway_process(database_dsn) as service:
        await service.until_ops("/readyz", status=200)
        admin = await asyncpg.connect(database_dsn)
        await admin.execute(REFUSE_EVERY_VERSION)
        await admin.close()
        create = json.loads(
            call_bytes("memory", {"command": "create", "path": "/user/a", "content": "x"}).split(
                b"\r\n\r\n"
            )[1]
        )
        request = request_bytes(
            "POST",
            "/mcp",
            headers={**HEADERS, "x-request-id": "trace-77"},
            body=json.dumps(create).encode(),
        )
        answer = called(reply_of(await ask(service, request))["result"])
        assert answer == (True, "Tool 'memory' failed: internal error", None)
        (event,) = service.events("tool_failed")
        assert (event["request_id"], event["client"]) == ("trace-77", "client:default")
        assert not [line for line in service.lines if TOKEN in line]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"NEOSIAN_SERVE_TOKEN": ""}, "NEOSIAN_SERVE_TOKEN must be set"),
        ({"COMMONHOLD_GATEWAY_MOUNTS": "x"}, "COMMONHOLD_GATEWAY_MOUNTS malformed --mount 'x'"),
        ({"COMMONHOLD_GATEWAY_SESSION": "x"}, "COMMONHOLD_GATEWAY_SESSION is not a setting"),
        (
            {"COMMONHOLD_GATEWAY_CLIENTS": "/nowhere.toml"},
            "COMMONHOLD_GATEWAY_CLIENTS: /nowhere.toml cannot be read",
        ),
    ],
)
async def test_a_bad_setting_stops_the_start(
    database_dsn: str, settings: dict[str, str], told: str
) -> None:
    line = await assert_does_not_start(database_dsn, settings=settings)
    assert line.startswith(f"commonhold-gateway: {told}")


async def test_a_mistake_in_the_clients_file_is_told_with_its_line(
    database_dsn: str, tmp_path: Path
) -> None:
    path = tmp_path / "clients.toml"
    path.write_text('[clients."client:default"]\nmounts = [{ scope = "bad", path = "user" }]\n')
    line = await assert_does_not_start(
        database_dsn, settings={"COMMONHOLD_GATEWAY_CLIENTS": str(path)}
    )
    assert f"{path}, line 2: Invalid memory scope 'bad'" in line


async def test_a_port_in_use_is_named(database_dsn: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        for name in ("COMMONHOLD_GATEWAY_LISTEN", "COMMONHOLD_GATEWAY_OPS_LISTEN"):
            line = await assert_does_not_start(database_dsn, settings={name: place})
            assert line.startswith(f"commonhold-gateway: {name}: cannot listen on {place}")
