"""A slow model holds nothing, and what is erased meanwhile is in no call, log or row afterwards."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import asyncpg

from commonhold.adapters.postgres import PostgresStore
from commonhold.contract.messages import Message
from tests.support.gateway_process import gateway_process
from tests.support.maintenance_process import (
    SCOPE,
    count_deletions,
    maintenance_process,
    plant_copies,
    until_event,
)
from tests.support.mcp_clients import STATELESS
from tests.support.mcp_messages import memory_call
from tests.support.pools import open_pool
from tests.support.scripted_model import Exchange, ScriptedModel, completion, says, scripted_model
from tests.support.service_process import TOKEN, ServiceProcess
from tests.support.state_process import post, state_process

ASKS = f"""
[gardens.home]
mounts = [{{scope = "{SCOPE}", path = "user"}}]
interval = "1s"
jitter = 0.0
min_age_days = 0
model = true
"""
MARKER = "marker-of-the-erased-text"
READS = 4
AT_ONCE = 4
WriteGardens = Callable[[str], Path]


def proposes(*operations: dict[str, str]) -> dict[str, object]:
    return completion(json.dumps({"ops": list(operations)}))


def settings_for(model: ScriptedModel) -> dict[str, str]:
    return {
        "COMMONHOLD_MODEL_URL": model.base_url,
        "COMMONHOLD_MODEL_NAME": "scripted",
        "COMMONHOLD_POOL_SIZE": "2",
    }


async def read_over_the_wire(state: ServiceProcess) -> str:
    answer = await post(state, "memory/read", {"scope": SCOPE, "path": "copy/00000"})
    assert answer.status == 200
    return answer.text


async def read_with_a_tool(gateway: ServiceProcess) -> str:
    call = memory_call({"command": "view", "path": "/user/copy/00000"}, era=STATELESS, token=TOKEN)
    async with await gateway.connect() as connection:
        answer = await connection.ask(call)
    assert answer.status == 200
    return answer.text


async def test_while_a_model_thinks_every_service_answers_on_two_connections(
    database_dsn: str, eye: asyncpg.Connection, write_gardens: WriteGardens
) -> None:
    await plant_copies(eye, 4)
    answer = asyncio.Event()

    async def think(exchange: Exchange) -> None:
        await answer.wait()
        await says(proposes())(exchange)

    small = {"COMMONHOLD_POOL_SIZE": "2", "COMMONHOLD_POOL_WAIT_SECONDS": "30"}
    async with (
        scripted_model(think) as model,
        state_process(database_dsn, settings=small) as state,
        gateway_process(database_dsn, settings=small) as gateway,
        maintenance_process(
            database_dsn, write_gardens(ASKS), settings=settings_for(model)
        ) as worker,
    ):
        await state.until_ops("/readyz", status=200)
        await gateway.until_ops("/readyz", status=200)
        await model.asked.wait()
        for _ in range(READS):
            # As many at a time as there are connections, and more.
            told = await asyncio.gather(
                *(read_over_the_wire(state) for _ in range(AT_ONCE)),
                *(read_with_a_tool(gateway) for _ in range(AT_ONCE)),
            )
            assert all("the same" in text for text in told)
            for service in (state, gateway, worker):
                assert (await service.ops("/readyz")).status == 200
        assert not answer.is_set()
        await worker.until_ops(
            "/metrics", status=200, holding='commonhold_pool_connections{state="in_use"} 0.0'
        )
        assert await count_deletions(eye) == 3
        answer.set()
        await until_event(worker, "upkeep_pass")
        assert worker.events("upkeep_pass")[0]["degraded"] is None


async def test_what_is_erased_during_a_pass_goes_no_further(
    database_dsn: str, eye: asyncpg.Connection, write_gardens: WriteGardens
) -> None:
    pool = await open_pool(database_dsn, size=2)
    store = PostgresStore(pool)
    await store.write(SCOPE, "secret", f"It is {MARKER}.")
    await store.write(SCOPE, "other", "Likes tea.")
    copying = proposes({"command": "create", "path": "/user/copy", "content": f"It is {MARKER}."})

    async def answer_once_it_is_erased(exchange: Exchange) -> None:
        await store.redact(SCOPE, path="secret", actor="cli:ops")
        await says(copying)(exchange)

    async with (
        scripted_model(answer_once_it_is_erased, says(proposes())) as model,
        maintenance_process(
            database_dsn, write_gardens(ASKS), settings=settings_for(model)
        ) as worker,
    ):
        await until_event(worker, "upkeep_pass", count=2)
        first, *later = [json.dumps(request.body) for request in model.requests]
        assert MARKER in first
        assert later
        assert MARKER not in "".join(later)
        skipped = worker.events("upkeep_pass")[0]["skipped"]
        assert [(one["path"], one["reason"]) for one in skipped] == [(None, "erased")]
        assert MARKER not in "\n".join(worker.lines)
    assert await store.read(SCOPE, "copy") is None
    await pool.close()
    rows = await eye.fetch(
        "SELECT j::text FROM commonhold.jobs AS j"
        " UNION ALL SELECT l::text FROM commonhold.job_log AS l"
        " UNION ALL SELECT g::text FROM commonhold.garden_runs AS g"
        " UNION ALL SELECT v::text FROM commonhold.document_versions AS v"
    )
    assert rows
    assert MARKER not in "".join(row[0] for row in rows)


RETENTION = """
[retention]
interval = "24h"

[[retention.rules]]
conversations = "chat-"
redact_older_than = "1d"

[[retention.rules]]
scope = "user:"
redact_older_than = "1d"

[[retention.rules]]
conversations = "chat-case"
hold = true

[[retention.rules]]
scope = "user:counsel"
hold = true
"""


async def test_retention_erases_by_rule_and_keeps_what_is_held(
    database_dsn: str, eye: asyncpg.Connection, write_gardens: WriteGardens
) -> None:
    pool = await open_pool(database_dsn, size=2)
    store = PostgresStore(pool)
    for name in ("chat-1", "chat-case-7", "other-1"):
        await store.append_turn(name, [Message(role="user", content=MARKER)])
    await eye.execute("UPDATE commonhold.turns SET created_at = now() - interval '3 days'")
    for scope in (SCOPE, "user:counsel", "project:erp"):
        await store.write(scope, "note", MARKER)
    await eye.execute("UPDATE commonhold.documents SET updated_at = now() - interval '3 days'")
    async with maintenance_process(database_dsn, write_gardens(RETENTION)) as worker:
        await until_event(worker, "upkeep_pass")
        (line,) = worker.events("upkeep_pass")

    async def is_blank(name: str) -> bool:
        return (await store.read_turns(name))[0].redacted

    assert [await is_blank(name) for name in ("chat-1", "chat-case-7", "other-1")] == [
        True,
        False,
        False,
    ]
    conversations, scopes = line["rules"]
    assert conversations["skipped"] == [{"conversation_id": "chat-case-7", "reason": "legal hold"}]
    (act,) = await store.turn_redactions()
    assert act.actor == "gardener:retention"
    assert scopes["documents"] == [{"scope": SCOPE, "path": "note"}]
    assert scopes["skipped"] == [{"scope": "user:counsel", "path": "note", "reason": "legal hold"}]
    trails = [await store.redactions(scope) for scope in (SCOPE, "user:counsel", "project:erp")]
    assert [[(one.path, one.actor) for one in trail] for trail in trails] == [
        [("note", "gardener:retention")],
        [],
        [],
    ]
    await pool.close()
