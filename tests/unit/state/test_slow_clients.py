"""What slow, silent and deaf clients can hold of the service, and for how long."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold_state import replies
from commonhold_state.app import Limits
from tests.support.goldens.expectations import assert_ok, assert_plain
from tests.support.held_stores import GatedStore, count
from tests.support.raw_http import RawConnection, request_bytes
from tests.support.wire_service import TOKEN, Wire, running

AUTHORIZATION = {"authorization": f"Bearer {TOKEN}"}
READ = b'{"scope":"u:a","path":"p"}'
KIB = 1024


class TestPace:
    @pytest.fixture
    async def wire(self) -> AsyncIterator[Wire]:
        limits = Limits(body_timeout_seconds=3.0, body_grace_seconds=0.2)
        async with running(InMemoryStore(), limits=limits) as service:
            yield service

    @staticmethod
    async def send_bytewise(connection: RawConnection, data: bytes, *, pause: float) -> None:
        for index in range(len(data)):
            await connection.send(data[index : index + 1])
            await asyncio.sleep(pause)

    async def test_a_body_below_its_pace_is_408_and_closed(self, wire: Wire) -> None:
        async with await wire.connect() as connection:
            await connection.send(
                request_bytes("POST", "/v1/memory/read", headers=AUTHORIZATION, length=1000)
            )
            sending = asyncio.create_task(self.send_bytewise(connection, b" " * 1000, pause=0.02))
            answer = await connection.read_answer()
            sending.cancel()
            assert_plain(answer, 408, "Request Timeout")
            assert answer.header("connection") == "close"
        rejected = 'commonhold_rejected_total{reason="body_timeout",service="state"}'
        assert count(wire, rejected) == 1

    async def test_a_body_that_never_ends_is_408_though_it_keeps_its_pace(self) -> None:
        limits = Limits(body_timeout_seconds=0.3, body_grace_seconds=0.2)
        async with (
            running(InMemoryStore(), limits=limits) as wire,
            await wire.connect() as connection,
        ):
            headers = {**AUTHORIZATION, "transfer-encoding": "chunked"}
            await connection.send(request_bytes("POST", "/v1/memory/read", headers=headers))
            await connection.send(b"%x\r\n%b\r\n" % (64 * KIB, b" " * 64 * KIB))
            assert_plain(await connection.read_answer(), 408, "Request Timeout")

    async def test_a_small_body_in_two_packets_is_in_time(self) -> None:
        async with running(InMemoryStore()) as wire, await wire.connect() as connection:
            request = request_bytes(
                "POST", "/v1/memory/read", headers=AUTHORIZATION, length=len(READ)
            )
            await connection.send(request + READ[:3])
            assert_ok(await connection.ask(READ[3:]), '{"document":null}')

    async def test_a_head_that_does_not_arrive_is_cut(self) -> None:
        async with running(InMemoryStore(), head_seconds=0.2) as wire:
            async with await wire.connect() as connection:
                sending = asyncio.create_task(
                    self.send_bytewise(connection, b"GET /health HTTP/1.1\r\nx: y" * 9, pause=0.02)
                )
                assert await connection.read_to_end() == b""
                await asyncio.gather(sending, return_exceptions=True)
            assert (await wire.ask("GET", "/health")).status == 200

    async def test_the_second_head_of_a_connection_is_cut_too(self) -> None:
        async with (
            running(InMemoryStore(), head_seconds=0.2) as wire,
            await wire.connect() as connection,
        ):
            assert (await connection.ask(request_bytes("GET", "/health"))).status == 200
            await connection.send(b"GET /health HT")
            assert await connection.read_to_end() == b""

    async def test_a_head_in_pieces_that_is_quick_enough_is_answered(self) -> None:
        async with (
            running(InMemoryStore(), head_seconds=5.0) as wire,
            await wire.connect() as connection,
        ):
            await self.send_bytewise(connection, request_bytes("GET", "/health")[:-1], pause=0.001)
            assert (await connection.ask(b"\n")).status == 200
            assert (await connection.ask(request_bytes("GET", "/health"))).status == 200


class TestSlowReaders:
    async def test_an_answer_that_nobody_takes_ends_the_connection(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(replies, "STALLED_SECONDS", 0.2)
        store = InMemoryStore()
        await store.write("u:a", "p", "x" * 16 * KIB * KIB)
        request = request_bytes("POST", "/v1/memory/read", headers=AUTHORIZATION, body=READ)
        async with running(store) as wire:
            with socket.create_connection((wire.address.host, wire.address.port)) as deaf:
                deaf.sendall(request)
                busy = 'commonhold_in_flight{service="state"}'
                seen = set()
                async with asyncio.timeout(10):
                    # It holds its place until it is given up, and nobody else waits for it.
                    while 0.0 not in seen or 1.0 not in seen:
                        assert (await wire.ask("GET", "/health")).status == 200
                        seen.add(count(wire, busy))

    async def test_a_large_answer_arrives_whole(self) -> None:
        store = InMemoryStore()
        content = "x" * (5 * KIB * KIB) + "é"
        await store.write("u:a", "p", content)
        async with running(store) as wire:
            answer = await wire.post("memory/read", READ)
            assert json.loads(answer.body)["document"]["content"] == content
            assert_ok(
                await wire.post("memory/read", {"scope": "u:a", "path": "q"}), '{"document":null}'
            )


class TestConnections:
    async def test_idle_connections_make_room_for_new_ones(self) -> None:
        async with running(InMemoryStore(), most_connections=3) as wire:
            idle = [await wire.connect() for _ in range(3)]
            for connection in idle:
                assert (await connection.ask(request_bytes("GET", "/health"))).status == 200
            for _ in range(6):
                async with await wire.connect() as connection:
                    assert (await connection.ask(request_bytes("GET", "/health"))).status == 200
            assert await idle[0].read_to_end() == b""
            for connection in idle:
                await connection.close()

    async def test_silent_connections_cannot_keep_others_out(self) -> None:
        async with running(InMemoryStore(), most_connections=3) as wire:
            silent = [await wire.connect() for _ in range(12)]
            assert (await wire.ask("GET", "/health")).status == 200
            for connection in silent:
                await connection.close()

    async def test_as_many_make_room_as_come_at_once(self) -> None:
        async with running(InMemoryStore(), most_connections=4) as wire:
            crowd = await asyncio.gather(*(wire.connect() for _ in range(12)))
            gone = [asyncio.create_task(one.read_to_end()) for one in crowd]
            done, staying = await asyncio.wait(gone, timeout=1)
            assert (len(done), len(staying)) == (8, 4)
            for one in crowd:
                await one.close()
            await asyncio.gather(*gone)

    async def test_refused_senders_that_go_on_sending_cannot_either(self) -> None:
        async with running(InMemoryStore(), most_connections=3) as wire:
            senders = [await wire.connect() for _ in range(3)]
            for sender in senders:
                refused = request_bytes("POST", "/v1/memory/read", length=1000)
                assert (await sender.ask(refused)).status == 401
                await sender.send(b"x")
            assert (await wire.ask("GET", "/health")).status == 200
            for sender in senders:
                await sender.close()

    async def test_working_connections_are_not_evicted(self) -> None:
        store = GatedStore()
        async with running(store, most_connections=2) as wire:
            request = request_bytes("POST", "/v1/memory/read", headers=AUTHORIZATION, body=READ)
            async with await wire.connect() as one, await wire.connect() as two:
                await one.send(request)
                await two.send(request)
                await store.until_waiting(2)
                late = await wire.connect()
                await late.send(request)
                assert await late.read_to_end() == b""
                await late.close()
                store.gate.set()
                for connection in (one, two):
                    assert_ok(await connection.read_answer(), '{"document":null}')
