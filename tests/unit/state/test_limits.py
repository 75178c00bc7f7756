"""Ceilings: requests in flight, sizes of bodies, and room for large ones."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold_state.app import Limits
from commonhold_state.shapes import MOST_VALUES
from tests.support.goldens.expectations import assert_ok, assert_refused
from tests.support.held_stores import GatedStore, assert_unavailable, count
from tests.support.raw_http import chunked, request_bytes
from tests.support.wire_service import TOKEN, Wire, running

LIMIT = 67108864
TOO_MANY = f"request body holds more than {MOST_VALUES} values"
TOO_LARGE = f"request body exceeds {LIMIT} bytes"
AUTHORIZATION = {"authorization": f"Bearer {TOKEN}"}
READ = b'{"scope":"u:a","path":"p"}'
KIB = 1024


@pytest.fixture
async def gated() -> AsyncIterator[tuple[Wire, GatedStore]]:
    store = GatedStore()
    limits = Limits(requests=2, body_bytes=1024 * KIB)
    async with running(store, limits=limits) as wire:
        yield wire, store
        store.gate.set()


def padded(size: int) -> bytes:
    """A read whose body has exactly so many bytes."""
    start, end = b'{"scope":"u:a","path":"p","ignored":"', b'"}'
    return start + b"x" * (size - len(start) - len(end)) + end


class TestInFlight:
    async def test_above_the_ceiling_the_answer_is_503_at_once(
        self, gated: tuple[Wire, GatedStore]
    ) -> None:
        wire, store = gated
        request = request_bytes("POST", "/v1/memory/read", headers=AUTHORIZATION, body=READ)
        async with await wire.connect() as one, await wire.connect() as two:
            await one.send(request)
            await two.send(request)
            await store.until_waiting(2)
            assert count(wire, 'commonhold_in_flight{service="state"}') == 2
            assert_unavailable(await wire.post("memory/read", READ))
            assert_unavailable(await wire.post("memory/write", b"not even JSON"))
            assert (await wire.ask("GET", "/health", token=None)).status == 200
            assert (await wire.ask("GET", "/v1/capabilities")).status == 200
            assert (await wire.post("memory/nothing", READ)).status == 404
            store.gate.set()
            for connection in (one, two):
                assert_ok(await connection.read_answer(), '{"document":null}')
            assert_ok(await wire.post("memory/read", READ), '{"document":null}')
        assert count(wire, 'commonhold_in_flight{service="state"}') == 0
        rejected = 'commonhold_rejected_total{reason="in_flight",service="state"}'
        assert count(wire, rejected) == 2

    async def test_slow_senders_hold_no_place(self, gated: tuple[Wire, GatedStore]) -> None:
        wire, store = gated
        store.gate.set()
        senders = [await wire.connect() for _ in range(8)]
        for sender in senders:
            await sender.send(
                request_bytes("POST", "/v1/memory/read", headers=AUTHORIZATION, length=len(READ))
            )
            await sender.send(READ[:5])
        for _ in range(4):
            assert_ok(await wire.post("memory/read", READ), '{"document":null}')
        for sender in senders:
            assert_ok(await sender.ask(READ[5:]), '{"document":null}')
            await sender.close()


class TestBodySize:
    async def test_exactly_the_limit_is_processed(self) -> None:
        async with running(InMemoryStore()) as wire:
            assert_ok(await wire.post("memory/read", padded(LIMIT)), '{"document":null}')

    async def test_a_chunked_body_is_cut_when_the_count_passes_the_limit(self) -> None:
        async with running(InMemoryStore()) as wire, await wire.connect() as connection:
            headers = {**AUTHORIZATION, "transfer-encoding": "chunked"}
            await connection.send(request_bytes("POST", "/v1/memory/read", headers=headers))
            piece = b"%x\r\n%b\r\n" % (KIB * KIB, b" " * KIB * KIB)
            for _ in range(64):
                await connection.send(piece)
            # One byte more, and no end: the answer does not wait for it.
            await connection.send(b"1\r\n \r\n")
            answer = await connection.read_answer()
            assert_refused(answer, TOO_LARGE, status=413)
            assert answer.header("connection") == "close"

    async def test_a_chunked_body_of_exactly_the_limit_is_processed(self) -> None:
        async with running(InMemoryStore()) as wire, await wire.connect() as connection:
            headers = {**AUTHORIZATION, "transfer-encoding": "chunked"}
            request = request_bytes("POST", "/v1/memory/read", headers=headers)
            await connection.send(request + chunked(padded(LIMIT), size=KIB * KIB))
            assert_ok(await connection.read_answer(), '{"document":null}')


class TestBytesInFlight:
    async def test_a_large_body_needs_room_from_its_first_byte_to_its_answer(
        self, gated: tuple[Wire, GatedStore]
    ) -> None:
        wire, store = gated
        large = padded(700 * KIB)
        request = request_bytes("POST", "/v1/memory/read", headers=AUTHORIZATION, body=large)
        async with await wire.connect() as holder:
            await holder.send(request)
            await store.until_waiting(1)
            assert_unavailable(await wire.post("memory/read", large))
            waiting = asyncio.create_task(wire.post("memory/read", padded(300 * KIB)))
            await store.until_waiting(2)
            store.gate.set()
            assert_ok(await holder.read_answer(), '{"document":null}')
            assert_ok(await waiting, '{"document":null}')
        assert_ok(await wire.post("memory/read", large), '{"document":null}')

    async def test_room_is_held_while_the_body_arrives(
        self, gated: tuple[Wire, GatedStore]
    ) -> None:
        wire, store = gated
        store.gate.set()
        large = padded(700 * KIB)
        async with await wire.connect() as sender:
            headers = {**AUTHORIZATION, "expect": "100-continue"}
            request = request_bytes("POST", "/v1/memory/read", headers=headers, length=len(large))
            # The interim answer says that the service has made room and reads.
            assert (await sender.ask(request)).status == 100
            assert_unavailable(await wire.post("memory/read", large))
            assert_ok(await sender.ask(large), '{"document":null}')
        assert_ok(await wire.post("memory/read", large), '{"document":null}')

    async def test_a_chunked_body_takes_room_as_it_grows(
        self, gated: tuple[Wire, GatedStore]
    ) -> None:
        wire, store = gated
        store.gate.set()
        async with await wire.connect() as sender:
            headers = {**AUTHORIZATION, "transfer-encoding": "chunked"}
            request = request_bytes("POST", "/v1/memory/read", headers=headers)
            await sender.send(request + chunked(padded(1025 * KIB), size=64 * KIB))
            assert_unavailable(await sender.read_answer())
        async with await wire.connect() as sender:
            await sender.send(request + chunked(padded(1024 * KIB), size=64 * KIB))
            assert_ok(await sender.read_answer(), '{"document":null}')

    async def test_many_values_need_room_for_what_they_become(
        self, gated: tuple[Wire, GatedStore]
    ) -> None:
        """Two bodies of 60 KiB over the free ones; the values of one take all there is."""
        wire, store = gated
        dense = b'{"scope":"u:a","path":"p","ignored":[' + b"0," * 60 * KIB + b"0]}"
        plain = padded(len(dense))
        # Alone it has room, however little there is; beside another it has none.
        for held, refused in ((dense, plain), (plain, dense)):
            store.gate.clear()
            async with await wire.connect() as one:
                request = request_bytes("POST", "/v1/memory/read", headers=AUTHORIZATION, body=held)
                await one.send(request)
                await store.until_waiting(1)
                assert_unavailable(await wire.post("memory/read", refused))
                store.gate.set()
                assert_ok(await one.read_answer(), '{"document":null}')

    async def test_too_many_values_are_refused_for_good_beside_others_too(self) -> None:
        """What can never be taken is not told to come back."""
        store = GatedStore()
        start = b'{"scope":"u:a","path":"p","ignored":['
        async with (
            running(store, limits=Limits(requests=2, body_bytes=16 * 1024 * KIB)) as wire,
            await wire.connect() as one,
        ):
            dense = start + b"0," * 60 * KIB + b"0]}"
            request = request_bytes("POST", "/v1/memory/read", headers=AUTHORIZATION, body=dense)
            await one.send(request)
            await store.until_waiting(1)
            endless = start + b"0," * MOST_VALUES + b"0]}"
            assert_refused(await wire.post("memory/read", endless), TOO_MANY)
            store.gate.set()
            assert_ok(await one.read_answer(), '{"document":null}')

    async def test_small_bodies_are_free(self) -> None:
        async with running(InMemoryStore(), limits=Limits(body_bytes=1)) as wire:
            assert_ok(await wire.post("memory/read", padded(64 * KIB)), '{"document":null}')
            assert_unavailable(await wire.post("memory/read", padded(64 * KIB + 1)))

    async def test_a_client_that_leaves_gives_its_room_back(
        self, gated: tuple[Wire, GatedStore]
    ) -> None:
        wire, store = gated
        store.gate.set()
        large = padded(700 * KIB)
        sender = await wire.connect()
        headers = {**AUTHORIZATION, "expect": "100-continue"}
        request = request_bytes("POST", "/v1/memory/read", headers=headers, length=len(large))
        assert (await sender.ask(request)).status == 100
        await sender.send(large[:1000])
        await sender.close()
        statuses = [(await wire.post("memory/read", large)).status for _ in range(20)]
        assert statuses[-1] == 200
