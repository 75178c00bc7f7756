"""Connections that hold without working, and how many of them there may be."""

from commonhold.adapters.in_memory import InMemoryStore
from tests.support.gateway_service import RunningGateway, running_gateway
from tests.support.raw_http import request_bytes

HEALTH = request_bytes("GET", "/health")


async def test_a_head_that_does_not_end_is_cut() -> None:
    async with running_gateway(InMemoryStore(), head_seconds=0.05) as gateway:
        async with await gateway.connect() as connection:
            await connection.send(b"POST /mcp HTTP/1.1\r\nhost: ")
            assert await connection.read_to_end() == b""
        async with await gateway.connect() as connection:
            # The second head on a connection is timed as the first.
            assert (await connection.ask(HEALTH)).status == 200
            await connection.send(b"GET /hea")
            assert await connection.read_to_end() == b""


async def test_at_the_bound_the_oldest_idle_connection_makes_room() -> None:
    async with running_gateway(InMemoryStore(), most_connections=2) as gateway:
        oldest, newer = await gateway.connect(), await gateway.connect()
        for connection in (oldest, newer):
            assert (await connection.ask(HEALTH)).status == 200
        async with await gateway.connect() as newest:
            assert (await newest.ask(HEALTH)).status == 200
            assert await oldest.read_to_end() == b""
            assert (await newer.ask(HEALTH)).status == 200
        await oldest.close()
        await newer.close()


async def test_what_is_no_http_is_400(gateway: RunningGateway) -> None:
    async with await gateway.connect() as connection:
        answer = await connection.ask(b"\x16\x03\x01 hello\r\n\r\n")
        assert answer.status == 400
