"""What clients see, and what the log says, when something behind the gates fails."""

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract.errors import StoreUnavailableError
from tests.support.goldens.expectations import assert_ok, assert_plain
from tests.support.held_stores import FailingStore, GatedStore, assert_unavailable, count
from tests.support.raw_http import request_bytes
from tests.support.wire_service import TOKEN, running

AUTHORIZATION = {"authorization": f"Bearer {TOKEN}"}
READ = b'{"scope":"u:a","path":"p"}'
KIB = 1024


class TestFailures:
    async def test_a_store_that_is_away_is_503(self) -> None:
        store = FailingStore()
        store.failure = StoreUnavailableError("no connection")
        async with running(store) as wire:
            assert_unavailable(await wire.post("memory/read", READ))
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
            assert_unavailable(await wire.post("memory/read", READ))
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
