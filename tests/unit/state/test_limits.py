"""Ceilings: sizes, pace, room, and what a slow or silent client can hold."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Sequence

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import ConversationTurn, MemoryDocument, Message
from commonhold.contract.errors import StoreUnavailableError
from commonhold_state import replies
from commonhold_state.app import Limits
from tests.support.goldens.expectations import assert_ok, assert_plain, assert_refused
from tests.support.raw_http import Answer, RawConnection, chunked, request_bytes
from tests.support.wire_service import TOKEN, Wire, running

LIMIT = 67108864
TOO_LARGE = f"request body exceeds {LIMIT} bytes"
AUTHORIZATION = {"authorization": f"Bearer {TOKEN}"}
READ = b'{"scope":"u:a","path":"p"}'
KIB = 1024


class GatedStore(InMemoryStore):
    """Reads wait at a gate, so that a test can hold requests in flight."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.waiting = 0
        self.arrived = asyncio.Condition()

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        async with self.arrived:
            self.waiting += 1
            self.arrived.notify_all()
        await self.gate.wait()
        self.waiting -= 1
        return await super().read(scope, path)

    async def until_waiting(self, count: int) -> None:
        async with asyncio.timeout(10), self.arrived:
            await self.arrived.wait_for(lambda: self.waiting >= count)


class FailingStore(InMemoryStore):
    """Fails in the way a test says."""

    failure: BaseException = RuntimeError("a bug")

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        raise self.failure

    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        raise self.failure


@pytest.fixture
async def gated() -> AsyncIterator[tuple[Wire, GatedStore]]:
    store = GatedStore()
    limits = Limits(requests=2, body_bytes=1024 * KIB)
    async with running(store, limits=limits) as wire:
        yield wire, store
        store.gate.set()


def head(path: str = "/v1/memory/read", **headers: str) -> dict[str, str]:
    return {**AUTHORIZATION, **headers}


def padded(size: int) -> bytes:
    """A read whose body has exactly so many bytes."""
    start, end = b'{"scope":"u:a","path":"p","ignored":"', b'"}'
    return start + b"x" * (size - len(start) - len(end)) + end


async def assert_unavailable(answer: Answer) -> None:
    assert_plain(answer, 503, "Service Unavailable")
    assert answer.header("retry-after") == "1"


def count(wire: Wire, metric: str) -> float:
    """The value of one sample, spelled as in the text exposition."""
    lines = wire.metrics.render().decode().splitlines()
    return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(metric)), 0.0)


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
            await assert_unavailable(await wire.post("memory/read", READ))
            await assert_unavailable(await wire.post("memory/write", b"not even JSON"))
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
            await assert_unavailable(await wire.post("memory/read", large))
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
            await assert_unavailable(await wire.post("memory/read", large))
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
            await assert_unavailable(await sender.read_answer())
        async with await wire.connect() as sender:
            await sender.send(request + chunked(padded(1024 * KIB), size=64 * KIB))
            assert_ok(await sender.read_answer(), '{"document":null}')

    async def test_small_bodies_are_free(self) -> None:
        async with running(InMemoryStore(), limits=Limits(body_bytes=1)) as wire:
            assert_ok(await wire.post("memory/read", padded(64 * KIB)), '{"document":null}')
            await assert_unavailable(await wire.post("memory/read", padded(64 * KIB + 1)))

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


class TestFailures:
    async def test_a_store_that_is_away_is_503(self) -> None:
        store = FailingStore()
        store.failure = StoreUnavailableError("no connection")
        async with running(store) as wire:
            await assert_unavailable(await wire.post("memory/read", READ))
            rejected = 'commonhold_rejected_total{reason="store",service="state"}'
            assert count(wire, rejected) == 1

    @pytest.mark.parametrize(
        "failure",
        [RuntimeError("secret"), KeyError("x"), UnicodeError("secret"), TimeoutError("secret")],
    )
    async def test_a_bug_is_a_plain_500_with_its_traceback_in_the_log_alone(
        self, failure: Exception, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store = FailingStore()
        store.failure = failure
        async with running(store) as wire:
            answer = await wire.post("memory/read", READ, headers={"x-request-id": "r-17"})
            assert_plain(answer, 500, "Internal Server Error")
            assert (await wire.ask("GET", "/health")).status == 200
            status = 'route="/v1/memory/read",service="state",status="500"'
            assert count(wire, f"commonhold_http_requests_total{{{status}}}") == 1
        logged = capsys.readouterr().out
        assert "r-17" in logged
        assert "Traceback" in logged

    async def test_a_failure_of_the_gates_themselves_is_logged_and_closes(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def broken(_request: object) -> str:
            raise RuntimeError("gate off its hinges")

        async with running(InMemoryStore()) as wire:
            monkeypatch.setattr(wire.gates, "_label", broken)
            answer = await wire.ask("GET", "/health")
            assert_plain(answer, 500, "Internal Server Error")
            assert answer.header("connection") == "close"
            labels = 'route="unknown",service="state",status="500"'
            assert count(wire, f"commonhold_http_requests_total{{{labels}}}") == 1
        assert "gate off its hinges" in capsys.readouterr().out

    async def test_an_unready_service_is_503_but_healthy(self) -> None:
        async with running(InMemoryStore()) as wire:
            wire.health.become_unready("migrating")
            await assert_unavailable(await wire.post("memory/read", READ))
            assert (await wire.ask("GET", "/health")).status == 200
            assert (await wire.ask("GET", "/v1/capabilities")).status == 200
            wire.health.become_ready()
            assert_ok(await wire.post("memory/read", READ), '{"document":null}')

    async def test_a_client_that_leaves_mid_request_lets_the_mutation_finish(self) -> None:
        store = GatedStore()
        async with running(store) as wire:
            request = request_bytes("POST", "/v1/memory/read", headers=AUTHORIZATION, body=READ)
            connection = await wire.connect()
            await connection.send(request)
            await store.until_waiting(1)
            await connection.close()
            store.gate.set()
            for _ in range(20):
                assert (await wire.ask("GET", "/health")).status == 200
            assert count(wire, 'commonhold_in_flight{service="state"}') == 0
            operation = 'operation="read",outcome="ok"'
            name = f"commonhold_store_operation_duration_seconds_count{{{operation}}}"
            assert count(wire, name) == 1
