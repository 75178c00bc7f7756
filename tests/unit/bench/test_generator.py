"""The generator against a server that answers what the test tells it to."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bench.generator import own_requests, send_load
from bench.loads import Load

REQUEST = b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
BUSY = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"


@asynccontextmanager
async def _server(answer: Callable[[int], bytes | None]) -> AsyncIterator[int]:
    """Answers the n-th request of each connection; None hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                said = answer(number)
                if said is None:
                    break
                writer.write(said)
                number += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_every_answer_is_counted_by_its_status() -> None:
    async with _server(lambda number: BUSY if number == 1 else OK) as port:
        outcome = await send_load(
            Load(port=port, requests=[REQUEST], connections=3, requests_each=4)
        )
    assert outcome.statuses == {200: 9, 503: 3}
    assert len(outcome.latencies) == 9
    assert (outcome.faults, outcome.failures, outcome.hung) == (3, {}, 0)
    assert outcome.first_body == b"ok"


async def test_a_connection_that_is_cut_is_a_failure() -> None:
    async with _server(lambda number: OK if number == 0 else None) as port:
        outcome = await send_load(
            Load(port=port, requests=[REQUEST], connections=2, requests_each=5)
        )
    assert outcome.statuses == {200: 2}
    assert sum(outcome.failures.values()) == outcome.faults == 2


async def test_a_server_that_does_not_answer_leaves_connections_hung() -> None:
    async with _server(lambda _number: b"") as port:
        outcome = await send_load(
            Load(
                port=port,
                requests=[REQUEST],
                connections=2,
                requests_each=1,
                patience_seconds=0.2,
            )
        )
    assert outcome.hung == 2


async def test_the_warm_up_is_not_counted() -> None:
    answered = 0

    def answer(_number: int) -> bytes:
        nonlocal answered
        answered += 1
        return OK

    async with _server(answer) as port:
        outcome = await send_load(
            Load(port=port, requests=[REQUEST], connections=1, seconds=0.05, warmup_seconds=0.2)
        )
    assert 0 < len(outcome.latencies) < answered
    assert outcome.faults == 0


def test_connections_share_the_requests_without_meeting() -> None:
    requests = [bytes([number]) for number in range(5)]
    first = own_requests(requests, 0, connections=2, limit=4)
    second = own_requests(requests, 1, connections=2, limit=4)
    assert list(first) == [b"\0", b"\2", b"\4", b"\0"]
    assert list(second) == [b"\1", b"\3", b"\1", b"\3"]


def test_more_connections_than_requests_share_one() -> None:
    assert list(own_requests([b"a", b"b"], 3, connections=9, limit=2)) == [b"b", b"b"]
