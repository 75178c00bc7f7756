"""The load generator: a load on standard input, its outcome on standard output.

    python -m bench.generator < load > outcome

Raw sockets and requests made beforehand, so that it takes little of the processors that it
shares with what it measures.
"""

import asyncio
import gc
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from time import perf_counter
from typing import cast

import msgspec
import uvloop

from bench.loads import OK, Load, Outcome
from bench.responses import ResponseReader

HOST = "127.0.0.1"


class Tally:
    """What all connections of a load have seen."""

    def __init__(self, finished: "asyncio.Future[None]", *, connections: int) -> None:
        self.is_counting = False
        self.is_over = False
        self.latencies: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.failures: Counter[str] = Counter()
        self.first_body = b""
        self.open = connections
        self.started = 0.0
        self.seconds = 0.0
        self._finished = finished

    def begin(self) -> None:
        self.is_counting = True
        self.started = perf_counter()

    def end(self) -> None:
        if self.is_counting:
            self.seconds = perf_counter() - self.started
        self.is_counting = False
        self.is_over = True

    def leave(self) -> None:
        self.open -= 1
        if not self.open and not self._finished.done():
            self._finished.set_result(None)


class Connection(asyncio.Protocol):
    """One client: it sends the next request when it has read the answer to the last."""

    def __init__(self, tally: Tally, requests: Iterator[bytes], *, keeps_first: bool) -> None:
        self._tally = tally
        self._requests = requests
        self._reader = ResponseReader(keeps_body=keeps_first)
        self._sent_at = 0.0
        self._is_done = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclass of what they stand for.
        self._transport = cast("asyncio.Transport", transport)

    def send(self) -> None:
        request = next(self._requests, None)
        if request is None or self._tally.is_over or self._transport is None:
            self.leave()
            return
        self._sent_at = perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        try:
            status = self._reader.feed(data)
        except ValueError as fault:
            self._fail(str(fault))
            return
        if status is None:
            return
        tally = self._tally
        if tally.is_counting:
            tally.statuses[status] += 1
            if status == OK:
                tally.latencies.append(perf_counter() - self._sent_at)
        if self._reader.keeps_body:
            tally.first_body = self._reader.body
            self._reader.keeps_body = False
        self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._is_done:
            self._fail("the connection was closed" if exc is None else type(exc).__name__)

    def _fail(self, reason: str) -> None:
        self._tally.failures[reason] += 1
        self.leave()

    def leave(self) -> None:
        if self._is_done:
            return
        self._is_done = True
        if self._transport is not None:
            self._transport.abort()
        self._tally.leave()


async def send_load(load: Load) -> Outcome:
    loop = asyncio.get_running_loop()
    tally = Tally(loop.create_future(), connections=load.connections)
    finished = tally._finished
    connections = [await _connect(load, tally, number) for number in range(load.connections)]
    if load.requests_each is None:
        loop.call_later(load.warmup_seconds, tally.begin)
        loop.call_later(load.warmup_seconds + load.seconds, tally.end)
        patience = load.warmup_seconds + load.seconds + load.patience_seconds
    else:
        tally.begin()
        patience = load.patience_seconds
    for connection in connections:
        connection.send()
    await asyncio.wait([finished], timeout=patience)
    if load.requests_each is not None:
        tally.end()
    hung = tally.open
    for connection in connections:
        connection.leave()
    return Outcome(
        seconds=tally.seconds,
        latencies=tally.latencies,
        statuses=dict(tally.statuses),
        failures=dict(tally.failures),
        hung=hung,
        first_body=tally.first_body,
    )


async def _connect(load: Load, tally: Tally, number: int) -> Connection:
    requests = own_requests(
        load.requests, number, connections=load.connections, limit=load.requests_each
    )
    _, connection = await asyncio.get_running_loop().create_connection(
        lambda: Connection(tally, requests, keeps_first=number == 0), HOST, load.port
    )
    return connection


def own_requests(
    requests: Sequence[bytes], number: int, *, connections: int, limit: int | None
) -> Iterator[bytes]:
    """The share of one connection; with fewer requests than connections they are shared."""
    own = requests[number::connections] or [requests[number % len(requests)]]
    return islice(cycle(own), limit)


def main() -> None:
    load = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Load)
    gc.freeze()
    gc.disable()
    outcome = uvloop.run(send_load(load))
    sys.stdout.buffer.write(msgspec.msgpack.encode(outcome))


if __name__ == "__main__":
    main()
