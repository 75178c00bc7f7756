"""The kit of the wire: it passes over a good service, and sees each rule that a bad one breaks."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance.wire import (
    CASES,
    Case,
    Report,
    ServiceUnusableError,
    WireService,
    run_kit,
)
from commonhold.contract import Clock
from tests.support.mutants import wire, wire_bodies
from tests.support.mutants.wire_registry import MUTANTS
from tests.support.plain_store import PlainStore
from tests.support.wire_proxy import Exchange, Proxy, proxy_before
from tests.support.wire_service import TOKEN, HandClock, running

# What they hold registers itself.
MODULES = (wire, wire_bodies)
BY_NAME = {case.name: case for case in CASES}
# Without the bodies as long as the limit, of which no clock and no capability says anything.
LIGHT = [case for case in CASES if case.group != "limits"]
DEEP = 200_000


class BackwardClock:
    """Each reading is before the last, as those of replicas may be."""

    def __init__(self) -> None:
        self._moment = datetime(2026, 11, 29, tzinfo=UTC)

    def now(self) -> datetime:
        self._moment -= timedelta(microseconds=1)
        return self._moment


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    async with running(InMemoryStore()) as wire, proxy_before(_url(wire.address.port)) as proxy:
        yield proxy


async def test_a_whole_service_passes_every_case_and_keeps_no_text_of_it() -> None:
    store = InMemoryStore()
    await store.write("user:ada", "a", "mine")
    async with running(store) as wire, proxy_before(_url(wire.address.port)) as proxy:
        report = await _run(proxy.url)
    assert _failures(report) == []
    assert report.count("pass") == len(CASES)
    for scope in await store.scopes():
        mine = scope == "user:ada"
        kept = [row.content for row in await store.history(scope) if row.content]
        assert (scope, kept) == (scope, ["mine"] if mine else [])
        assert mine or await store.list_documents(scope) == ()
    for conversation in await store.conversations():
        assert all(turn.redacted for turn in await store.read_turns(conversation))


@pytest.mark.parametrize("clock", [HandClock(), BackwardClock()], ids=["standing", "backward"])
async def test_no_case_asks_more_of_stamps_than_the_contract(clock: Clock) -> None:
    async with running(InMemoryStore(clock=clock)) as wire:
        report = await _run(_url(wire.address.port), cases=LIGHT)
    assert _failures(report) == []


async def test_what_a_service_lacks_is_not_supported_and_no_failure() -> None:
    async with running(PlainStore()) as wire:
        report = await _run(_url(wire.address.port), cases=LIGHT)
    assert _failures(report) == []
    lacking = {out.case.group for out in report.outcomes if out.verdict == "not supported"}
    assert lacking == {"pages", "erasure", "units", "keys"}


@pytest.mark.parametrize("name", MUTANTS)
async def test_a_broken_rule_is_seen(proxy: Proxy, name: str) -> None:
    mutant = MUTANTS[name]
    cases = [BY_NAME[case] for case in mutant.seen_by]
    async with WireService(proxy.url, TOKEN) as service:
        if mutant.before:
            proxy.before = mutant.bend
        else:
            proxy.after = mutant.bend
        report = await run_kit(service, cases=cases)
    assert [out.case.name for out in report.outcomes if out.verdict != "fail"] == []
    assert all("docs/reference/" in out.detail for out in report.outcomes), report.outcomes


def test_every_case_is_seen_to_fail() -> None:
    assert len(BY_NAME) == len(CASES)
    assert {case for mutant in MUTANTS.values() for case in mutant.seen_by} == BY_NAME.keys()


async def test_a_case_without_an_answer_fails() -> None:
    async with running(InMemoryStore()) as wire:
        service = WireService(_url(wire.address.port), TOKEN)
        async with service:
            wire.server.stop_accepting()
            await wire.server.abort()
            report = await run_kit(service, cases=[BY_NAME["a new scope is empty"]])
    (outcome,) = report.outcomes
    assert outcome.verdict == "fail"
    assert outcome.detail.startswith("no answer: ")


async def test_an_answer_of_another_shape_fails_its_case_alone() -> None:
    async def reads_too_much(_trial: object) -> None:
        raise KeyError("document")

    cases = [Case("memory", "reads too much", reads_too_much), BY_NAME["a new scope is empty"]]
    async with running(InMemoryStore()) as wire:
        service = WireService(_url(wire.address.port), TOKEN)
        async with service:
            report = await run_kit(service, cases=cases)
    assert [outcome.verdict for outcome in report.outcomes] == ["fail", "pass"]


async def test_an_answer_nested_beyond_reading_fails_its_case_alone(proxy: Proxy) -> None:
    async with WireService(proxy.url, TOKEN) as service:
        proxy.after = nests_beyond_reading
        report = await run_kit(service, cases=LIGHT)
    assert {out.verdict for out in report.outcomes if out.case.group != "http"} == {"fail"}
    with pytest.raises(ServiceUnusableError, match="are not of wire 6"):
        await WireService(proxy.url, TOKEN).__aenter__()


def nests_beyond_reading(exchange: Exchange) -> None:
    exchange.answer = b'{"error":%s%s}' % (b"[" * DEEP, b"]" * DEEP)


async def test_without_a_service_a_right_token_or_wire_6_nothing_begins(proxy: Proxy) -> None:
    for url, token, reason in (
        ("http://127.0.0.1:9", TOKEN, "does not answer"),
        (proxy.url, "wrong", "does not accept the token"),
    ):
        with pytest.raises(ServiceUnusableError, match=reason):
            await WireService(url, token).__aenter__()
    proxy.after = lambda exchange: setattr(exchange, "told", {**exchange.told, "wire_version": 7})
    with pytest.raises(ServiceUnusableError, match="speaks wire 7, this kit wire 6"):
        await WireService(proxy.url, TOKEN).__aenter__()


@pytest.mark.parametrize("reach", ["@user:ana", "@kit:", "@kit:+kit-", "+kit-"])
async def test_a_token_that_does_not_reach_the_whole_store_is_refused_before_anything(
    reach: str,
) -> None:
    store = InMemoryStore()
    async with running(store, tokens=f"client:a{reach}={TOKEN}") as wire:
        with pytest.raises(ServiceUnusableError, match="of client:a, is constrained"):
            await WireService(_url(wire.address.port), TOKEN).__aenter__()
    assert await store.scopes() == ()


async def _run(url: str, *, cases: Sequence[Case] = CASES) -> Report:
    async with WireService(url, TOKEN) as service:
        return await run_kit(service, cases=cases)


def _failures(report: Report) -> list[tuple[str, str]]:
    return [(out.case.name, out.detail) for out in report.outcomes if out.verdict == "fail"]


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}"
