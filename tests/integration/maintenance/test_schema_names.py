"""A schema whose name is a word of SQL: every statement of every service writes it quoted."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from commonhold.migrations import migrate
from tests.support.gateway_process import gateway_process
from tests.support.maintenance_process import SCOPE, maintenance_process, until_event
from tests.support.mcp_clients import STATELESS
from tests.support.mcp_messages import memory_call
from tests.support.postgres import execute, fetch_value
from tests.support.service_process import TOKEN, ServiceProcess
from tests.support.state_process import post, state_process

# Reserved in every place where a name may stand.
SCHEMA = "select"
CHOSEN = {"COMMONHOLD_SCHEMA": SCHEMA}
OFTEN = f"""
[gardens.home]
mounts = [{{scope = "{SCOPE}", path = "user"}}]
interval = "1s"
jitter = 0.0
min_age_days = 0

[retention]
interval = "1s"

[[retention.rules]]
scope = "user:"
redact_older_than = "1d"
"""


async def view(gateway: ServiceProcess, path: str) -> str:
    """The text of the whole answer."""
    async with await gateway.connect() as connection:
        call = memory_call({"command": "view", "path": path}, era=STATELESS, token=TOKEN)
        answer = await connection.ask(call)
    assert answer.status == 200
    return answer.text


async def test_a_reserved_word_is_a_schema_like_any_other(
    empty_database_dsn: str, write_gardens: Callable[[str], Path]
) -> None:
    await execute(empty_database_dsn, "CREATE ROLE choosing LOGIN PASSWORD 'x'")
    try:
        await migrate(empty_database_dsn, schema=SCHEMA, grant_to="choosing")
        parts = urlsplit(empty_database_dsn)
        dsn = parts._replace(netloc=f"choosing:x@{parts.hostname}:{parts.port}").geturl()
        async with state_process(dsn, settings=CHOSEN) as state:
            await state.until_ops("/readyz", status=200)
            for path in ("first", "copy"):
                body = {"scope": SCOPE, "path": path, "content": "the same"}
                assert (await post(state, "memory/write", body)).status == 200
        async with (
            gateway_process(dsn, settings=CHOSEN) as gateway,
            maintenance_process(dsn, write_gardens(OFTEN), settings=CHOSEN) as worker,
        ):
            await gateway.until_ops("/readyz", status=200)
            # Jobs are put, taken, kept and ended, and put again.
            await until_event(worker, "upkeep_pass", count=3)
            ends = [(line["garden"], line["end"]) for line in worker.events("upkeep_pass")]
            assert {*ends} == {("home", "done"), ("retention", "done")}
            assert "the same" in await view(gateway, "/user/first")
            assert "the same" not in await view(gateway, "/user/copy")
        trail = "SELECT count(*) FROM \"select\".job_log WHERE status = 'successful'"
        assert await fetch_value(empty_database_dsn, trail) >= 2
    finally:
        await execute(empty_database_dsn, "DROP OWNED BY choosing", "DROP ROLE choosing")
