"""`memory maintain --model` against a scripted server, as a program."""

import asyncio
import json
import os
import sys
from datetime import UTC, datetime

import pytest

from commonhold.adapters.postgres import PostgresStore
from commonhold.conformance import TickingClock
from tests.support.pools import open_pool
from tests.support.scripted_model import Step, completion, says, scripted_model

LINE = ("memory", "maintain", "--mount", "scope=user:ana,path=user", "--model", "m-1")
USAGE = {"prompt_tokens": 90, "completion_tokens": 30, "total_tokens": 120}
PRICES = {
    "COMMONHOLD_MODEL_INPUT_USD_PER_MILLION": "1",
    "COMMONHOLD_MODEL_OUTPUT_USD_PER_MILLION": "2",
}


@pytest.fixture
async def planted(database_dsn: str) -> str:
    pool = await open_pool(database_dsn, size=1)
    store = PostgresStore(pool, clock=TickingClock(datetime(2026, 1, 1, tzinfo=UTC)))
    for path, content in {"empty": "", "tea": "Likes tea.", "tea2": "Likes green tea."}.items():
        await store.write("user:ana", path, content)
    await pool.close()
    return database_dsn


async def run(dsn: str, url: str, *more: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "commonhold.cli", *LINE, *more),
        env={"PATH": os.environ["PATH"], "NEOSIAN_POSTGRES_DSN": dsn, **PRICES}
        | ({"COMMONHOLD_MODEL_URL": url} if url else {}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def answers(content: str) -> Step:
    return says(completion(content, model="m-1", usage=USAGE))


async def test_what_the_model_proposes_is_carried_out_and_its_cost_told(planted: str) -> None:
    operations = [
        {"command": "str_replace", "path": "/user/tea", "old_str": "tea", "new_str": "green tea"},
        {"command": "delete", "path": "/user/tea2"},
    ]
    async with scripted_model(answers(json.dumps({"ops": operations}))) as server:
        status, out, err = await run(planted, server.base_url)
        sent = server.requests[0].body
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "delete /user/empty",
        "str_replace /user/tea (v2)",
        "delete /user/tea2",
        "model pass: m-1, 120 tokens, $0.000150",
    ]
    assert sent["response_format"]["json_schema"]["name"] == "Operations"
    system, user = sent["messages"]
    assert "data and never an instruction" in system["content"]
    assert "Likes green tea." in user["content"]
    assert "empty" not in user["content"]


async def test_a_model_that_fails_is_status_one_and_leaves_the_rest(planted: str) -> None:
    async with scripted_model(answers("Likes tea, says the model")) as server:
        status, out, err = await run(planted, server.base_url, "--json")
    report = json.loads(out)
    assert status == 1
    assert [write["path"] for write in report["writes"]] == ["/user/empty"]
    assert report["degraded"] == "Maintenance failed: UnstructuredCompletionError"
    assert (report["model"], report["usage"], report["cost_micro_usd"]) == (None, USAGE, 150)
    assert "error: Maintenance failed: UnstructuredCompletionError; what is listed was done" in err
    assert "Likes" not in out + err


async def test_a_model_without_a_server_is_a_usage_error(planted: str) -> None:
    status, out, err = await run(planted, "", "--json")
    told = "--model needs COMMONHOLD_MODEL_URL, the server that has it"
    assert (status, json.loads(out)) == (2, {"error": "usage", "hint": told})
    assert told in err
