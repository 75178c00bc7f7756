"""The program from outside: starting, being ready, draining, refusing to start."""

import signal
import socket
from contextlib import AsyncExitStack
from secrets import token_hex
from urllib.parse import urlsplit

import pytest

from commonhold.migrations import SCHEMA_VERSION, migrate
from tests.support.ports import free_port
from tests.support.postgres import PostgresServer, execute, temporary_database
from tests.support.raw_http import request_bytes
from tests.support.service_process import TOKEN
from tests.support.state_process import post, state_process

READ = {"scope": "u:a", "path": "p"}
BODY = b'{"scope":"u:a","path":"p"}'
# Sent ahead of a body that is then held back: it has earned its sender a minute at the pace
# that is asked of bodies.
AHEAD = b" " * 60_000
LENGTH = len(AHEAD) + len(BODY)
INVITED = {"authorization": f"Bearer {TOKEN}", "expect": "100-continue"}


async def assert_does_not_start(
    dsn: str, *, settings: dict[str, str], arguments: tuple[str, ...] = ()
) -> str:
    """The one line it says before exiting with status 2."""
    async with state_process(dsn, settings=settings, arguments=arguments) as service:
        assert await service.exit_status() == 2
        assert len(service.lines) == 1, service.lines
        return service.lines[0]


async def test_it_serves_and_says_what_it_does(database_dsn: str) -> None:
    async with state_process(database_dsn) as service:
        await service.until_ops("/readyz", status=200)
        assert (await service.ops("/livez")).status == 200
        written = await post(service, "memory/write", {**READ, "content": "x"})
        assert written.status == 200
        assert (
            await post(service, "memory/write", {**READ, "content": "x", "expected_version": 9})
        ).status == 400
        metrics = await service.ops("/metrics")
        assert (metrics.header("content-type") or "").startswith("text/plain; version=0.0.4")
        write = 'route="/v1/memory/write",service="state"'
        for line in (
            f'commonhold_http_requests_total{{{write},status="200"}} 1.0',
            f'commonhold_http_requests_total{{{write},status="400"}} 1.0',
            'commonhold_store_operation_duration_seconds_count{operation="write",outcome="ok"} 1.0',
            'commonhold_conflicts_total{reason="version_mismatch"} 1.0',
            'commonhold_conflicts_total{reason="document_absent"} 0.0',
            "commonhold_idempotent_replays_total 0.0",
            "commonhold_database_up 1.0",
            "commonhold_ready 1.0",
            'commonhold_in_flight{service="state"} 0.0',
            "commonhold_pool_waiting 0.0",
            f"commonhold_schema_version {float(SCHEMA_VERSION)}",
        ):
            assert line in metrics.text
        assert "_created" not in metrics.text
        assert 'commonhold_build_info{revision="unknown",version="' in metrics.text


async def test_it_tells_the_revision_it_was_built_from(database_dsn: str) -> None:
    async with state_process(database_dsn, settings={"COMMONHOLD_REVISION": "abc-dirty"}) as it:
        metrics = await it.until_ops("/metrics", status=200)
        assert 'commonhold_build_info{revision="abc-dirty",version="' in metrics.text
    settings = {"COMMONHOLD_REVISION": "two words"}
    assert "COMMONHOLD_REVISION" in await assert_does_not_start(database_dsn, settings=settings)


@pytest.mark.parametrize("name", ["NEOSIAN_SERVE_TOKEN", "COMMONHOLD_SERVE_TOKEN_PREVIOUS"])
async def test_a_token_that_no_client_can_send_stops_the_start(
    database_dsn: str, name: str
) -> None:
    line = await assert_does_not_start(database_dsn, settings={name: " s3cret\n"})
    assert f"{name} has blanks around it" in line


async def test_a_database_in_another_encoding_is_not_served_from(
    postgres_server: PostgresServer,
) -> None:
    options = "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
    async with (
        temporary_database(postgres_server, template="template0", options=options) as dsn,
        state_process(dsn) as service,
    ):
        await service.until_ops("/readyz", status=503, holding="encoded in LATIN1")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_stop_finishes_what_runs_and_takes_nothing_new(
    database_dsn: str, number: signal.Signals
) -> None:
    async with AsyncExitStack() as stack, state_process(database_dsn) as service:
        await service.until_ops("/readyz", status=200)
        idle, running = await service.connect(), await service.connect()
        stack.push_async_callback(idle.close)
        stack.push_async_callback(running.close)
        assert (await idle.ask(request_bytes("GET", "/health"))).status == 200
        request = request_bytes("POST", "/v1/memory/read", headers=INVITED, length=LENGTH)
        assert (await running.ask(request)).status == 100
        await running.send(AHEAD)
        service.signal(number)
        await service.until_refused()
        assert await idle.read_to_end() == b""
        unready = await service.ops("/readyz")
        assert (unready.status, "draining" in unready.text) == (503, True)
        assert (await service.ops("/livez")).status == 200
        answer = await running.ask(BODY)
        assert (answer.status, answer.text) == (200, '{"document":null}')
        assert answer.header("connection") == "close"
        assert await running.read_to_end() == b""
        assert await service.exit_status() == 0
        assert [event["level"] for event in service.events("stopped")] == ["info"]


async def test_a_request_that_outlasts_the_drain_is_cut(database_dsn: str) -> None:
    async with state_process(database_dsn, settings={"COMMONHOLD_DRAIN_SECONDS": "0.2"}) as service:
        await service.until_ops("/readyz", status=200)
        async with await service.connect() as running:
            request = request_bytes("POST", "/v1/memory/read", headers=INVITED, length=LENGTH)
            assert (await running.ask(request)).status == 100
            await running.send(AHEAD)
            service.signal(signal.SIGTERM)
            assert await service.exit_status() == 0
        assert len(service.events("drain_deadline_passed")) == 1


async def test_a_second_signal_ends_the_wait(database_dsn: str) -> None:
    async with state_process(database_dsn, settings={"COMMONHOLD_DRAIN_SECONDS": "600"}) as service:
        await service.until_ops("/readyz", status=200)
        async with await service.connect() as running:
            request = request_bytes("POST", "/v1/memory/read", headers=INVITED, length=LENGTH)
            assert (await running.ask(request)).status == 100
            await running.send(AHEAD)
            service.signal(signal.SIGTERM)
            await service.until_refused()
            service.signal(signal.SIGTERM)
            assert await service.exit_status() == 0


async def test_a_missing_schema_is_said_once_and_waited_for(empty_database_dsn: str) -> None:
    async with state_process(empty_database_dsn) as service:
        unready = await service.until_ops("/readyz", status=503, holding="migrate")
        assert "commonhold migrate" in unready.text
        assert "commonhold_ready 0.0" in (await service.ops("/metrics")).text
        answer = await post(service, "memory/read", READ)
        assert (answer.status, answer.text) == (503, "Service Unavailable")
        async with await service.connect() as connection:
            assert (await connection.ask(request_bytes("GET", "/health"))).status == 200
        await migrate(empty_database_dsn)
        await service.until_ops("/readyz", status=200)
        assert (await post(service, "memory/read", READ)).status == 200
        assert len(service.events("not_ready")) == 1


async def test_rights_that_are_missing_are_said_once_and_waited_for(database_dsn: str) -> None:
    role, parts = f"r_{token_hex(4)}", urlsplit(database_dsn)
    login = f"{role}:pw@{parts.netloc.rpartition('@')[2]}"
    await execute(database_dsn, f"CREATE ROLE {role} LOGIN PASSWORD 'pw'")
    try:
        async with state_process(parts._replace(netloc=login).geturl()) as service:
            await service.until_ops("/readyz", status=503, holding="42501")
            assert (await post(service, "memory/read", READ)).status == 503
            await migrate(database_dsn, grant_to=role)
            await service.until_ops("/readyz", status=200)
            assert (await post(service, "memory/read", READ)).status == 200
            assert len(service.events("not_ready")) == 1
    finally:
        await execute(database_dsn, f"DROP OWNED BY {role}")
        await execute(database_dsn, f"DROP ROLE {role}")


async def test_a_schema_that_goes_and_comes_back_under_a_running_service_is_no_defect(
    database_dsn: str,
) -> None:
    async with state_process(database_dsn) as service:
        await service.until_ops("/readyz", status=200)
        await execute(database_dsn, "ALTER SCHEMA commonhold RENAME TO elsewhere")
        assert (await post(service, "memory/read", READ)).status == 503
        await execute(database_dsn, "ALTER SCHEMA elsewhere RENAME TO commonhold")
        await service.until_ops("/readyz", status=200)
        assert (await post(service, "memory/read", READ)).status == 200


async def test_a_database_that_is_away_at_start_is_waited_for() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        dsn = f"postgresql://u@127.0.0.1:{nobody.getsockname()[1]}/db"
        async with state_process(dsn) as service:
            unready = await service.until_ops("/readyz", status=503, holding="cannot be reached")
            assert unready.status == 503
            assert (await post(service, "memory/read", READ)).status == 503
            assert "commonhold_database_up 0.0" in (await service.ops("/metrics")).text
            service.signal(signal.SIGTERM)
            assert await service.exit_status() == 0


@pytest.mark.parametrize(
    ("settings", "arguments", "names"),
    [
        ({"NEOSIAN_SERVE_TOKEN": ""}, (), "NEOSIAN_SERVE_TOKEN"),
        ({"NEOSIAN_SERVE_TOKEN": "client:a=t,t"}, (), "NEOSIAN_SERVE_TOKEN"),
        ({"NEOSIAN_POSTGRES_DSN": ""}, (), "NEOSIAN_POSTGRES_DSN"),
        ({"NEOSIAN_POSTGRES_DSN": "db:5432"}, (), "NEOSIAN_POSTGRES_DSN must start with"),
        ({"NEOSIAN_SERVE_GRANTS": "/etc/grants.toml"}, (), "NEOSIAN_SERVE_GRANTS"),
        ({"COMMONHOLD_POOL_SIZES": "1"}, (), "COMMONHOLD_POOL_SIZES"),
        ({"COMMONHOLD_POOL_SIZE": "many"}, (), "COMMONHOLD_POOL_SIZE"),
        ({"COMMONHOLD_SCHEMA": "Bad"}, (), "COMMONHOLD_SCHEMA"),
        ({}, ("--port", "65536"), "--port"),
        ({}, ("--schema", "no-good"), "--schema"),
    ],
)
async def test_a_bad_setting_stops_the_start_with_one_line(
    settings: dict[str, str], arguments: tuple[str, ...], names: str
) -> None:
    dsn = f"postgresql://u@127.0.0.1:{free_port()}/db"
    line = await assert_does_not_start(dsn, settings=settings, arguments=arguments)
    assert line.startswith(f"commonhold-state: {names} ")


@pytest.mark.parametrize("name", ["COMMONHOLD_STATE_LISTEN", "COMMONHOLD_STATE_OPS_LISTEN"])
async def test_a_port_in_use_stops_the_start_naming_the_setting(
    database_dsn: str, name: str
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        async with state_process(database_dsn, settings={name: address}) as service:
            assert await service.exit_status() == 2
            assert f"{name}: cannot listen on {address}" in service.lines[-1]


async def test_the_log_is_json_and_holds_no_body_and_no_token(database_dsn: str) -> None:
    settings = {"COMMONHOLD_LOG_LEVEL": "debug"}
    async with state_process(database_dsn, settings=settings) as service:
        await service.until_ops("/readyz", status=200)
        await post(service, "memory/write", {**READ, "content": "hunter2"})
        async with await service.connect() as connection:
            headers = {
                "authorization": "Bearer wrong-hunter3",
                "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            }
            await connection.ask(request_bytes("GET", "/v1/x", headers=headers))
        service.signal(signal.SIGTERM)
        assert await service.exit_status() == 0
        requests = service.events("request")
        assert [(event["route"], event["status"]) for event in requests] == [
            ("/v1/memory/write", 200),
            ("unknown", 401),
        ]
        assert requests[1]["request_id"] == "0af7651916cd43dd8448eb211c80319c"
        assert all(line.startswith("{") for line in service.lines)
        for secret in ("hunter2", "hunter3", TOKEN, "postgresql://"):
            assert secret not in "\n".join(service.lines)


async def test_timeouts_dropped_by_a_pooler_are_told_once_with_the_remedy(
    pgbouncer_dsn: str,
) -> None:
    async with state_process(pgbouncer_dsn) as service:
        await service.until_ops("/readyz", status=200)
        assert (await post(service, "memory/write", {**READ, "content": "x"})).status == 200
        told = [line for line in service.lines if "timeouts_missing" in line]
    assert len(told) == 1
    for words in ("statement_timeout", "lock_timeout", "--grant-to"):
        assert words in told[0]


async def test_a_direct_connection_brings_its_timeouts_and_nothing_is_told(
    database_dsn: str,
) -> None:
    async with state_process(database_dsn) as service:
        await service.until_ops("/readyz", status=200)
    assert not [line for line in service.lines if "timeouts_missing" in line]
