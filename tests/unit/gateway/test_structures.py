"""Bodies that cost far more to read than to send (docs/reference/mcp.md, section 1)."""

import json
import time

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold_gateway.structures import MOST_VALUES, SMALL_BYTES, holds_many_values
from tests.support.gateway_service import MCP_HEADERS, TOKEN, RunningGateway
from tests.support.raw_http import chunked, request_bytes

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory","arguments":%b}}'
MANY = MOST_VALUES + 1


@pytest.mark.parametrize(
    "arguments",
    [
        b"[" + b"[]," * MANY + b"[]]",
        b"[" + b"{}," * MANY + b"{}]",
        b"[" + b"0," * MANY + b"0]",
        b"{" + b'"":0,' * MANY + b'"":0}',
        b"[" * MANY + b" " * SMALL_BYTES,
        b'["\\"",' + b"[]," * MANY + b"[]]",
    ],
)
async def test_a_body_of_many_values_is_refused_by_its_limit(
    gateway: RunningGateway, arguments: bytes
) -> None:
    answer = await gateway.post(CALL % arguments)
    assert answer.status == 400
    assert json.loads(answer.text)["error"] == {
        "code": "value_error",
        "message": f"request body holds more than {MOST_VALUES} values",
        "details": {},
    }


async def test_a_long_text_of_what_opens_values_is_a_text(
    gateway: RunningGateway, store: InMemoryStore
) -> None:
    content = '[{,"\\' * MANY
    answer = await gateway.call("memory", command="create", path="/user/a", content=content)
    assert answer.text == "Created /user/a (v1)"
    document = await store.read("user:ana", "a")
    assert document is not None
    assert document.content == content


async def test_pieces_of_a_body_are_judged_together(gateway: RunningGateway) -> None:
    body = CALL % (b"[" + b"[]," * MANY + b"[]]")
    bearer = {"authorization": f"Bearer {TOKEN}", "transfer-encoding": "chunked"}
    head = request_bytes("POST", "/mcp", headers={"host": "localhost", **MCP_HEADERS, **bearer})
    async with await gateway.connect() as connection:
        answer = await connection.ask(head + chunked(body, size=10_007))
    assert answer.status == 400


def test_judging_takes_time_in_proportion() -> None:
    started = time.process_time()
    for body in (b'"' * 8_000_000, b'"\\' * 4_000_000, b'",' * 4_000_000, b"\\" * 8_000_000):
        holds_many_values(body)
    assert time.process_time() - started < 10
