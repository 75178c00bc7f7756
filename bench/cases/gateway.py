"""Tool calls over MCP, beside the SDK's own server with a bare echo tool.

The gateway answers from the database what the echo answers from nothing: as many bytes.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from bench import datasets, mcp, names, texts
from bench.context import CONNECTIONS, Bench
from bench.findings import Finding, Report, Target
from bench.loads import Load, Outcome, run_load
from bench.mcp_echo import TOOL
from bench.stands import Server
from bench.summaries import Round, median_ratio, side_of, summarise

SMALL_SCOPE = 600_000
LARGE_SCOPE = 600_001
SMALL = 100
LARGE = 10_000
_CALLS = Target(at_least=0.6)
_INDEX = Target(at_most=10)
_INDEX_CONNECTIONS = 1


def tool_calls(bench: Bench) -> Report:
    """`memory view` of a document of 1 KiB, beside an echo of as many bytes, in both eras."""
    findings, rounds = [], []
    with _mounted(bench) as gateway, bench.stand.mcp_echo() as echo:
        for revision in (mcp.STATELESS, mcp.HANDSHAKE):
            measured = _calls(bench, gateway, echo, revision=revision)
            findings += _compare(measured, revision=revision)
            rounds += measured
    return Report(case="gateway", findings=findings, rounds=rounds)


def index_by_scope(bench: Bench) -> Report:
    """`view /` of a scope of 10,000 documents and of one of 100."""
    rounds: list[Round] = []
    with _mounted(bench, small=True) as small, _mounted(bench) as large:
        for number in range(bench.scale.flat_rounds):
            for side, server in (("100", small), ("10,000", large)):
                outcome = _send(
                    bench,
                    server,
                    mcp.call("memory", {"command": "view"}, revision=mcp.STATELESS),
                    connections=_INDEX_CONNECTIONS,
                )
                _require(outcome, "## /user")
                rounds.append(summarise(outcome, side=side, number=number))
    few, many = side_of(rounds, "100"), side_of(rounds, "10,000")
    finding = Finding(
        what="gateway: view / of 10,000 documents / of 100",
        value=median(_ratios(rounds)),
        target=_INDEX,
        notes=f"p50 {many.p50_ms:.2f} ms and {few.p50_ms:.2f} ms",
    )
    return Report(case="gateway-index", findings=[finding], rounds=rounds)


def _ratios(rounds: list[Round]) -> Iterator[float]:
    medians = {(one.side, one.number): one.p50_ms or 0.0 for one in rounds}
    for number in {one.number for one in rounds}:
        yield medians["10,000", number] / medians["100", number]


def _calls(bench: Bench, gateway: Server, echo: Server, *, revision: str) -> list[Round]:
    content = texts.content()
    path = f"/user/{names.path(0)}"
    viewed = mcp.call("memory", {"command": "view", "path": path}, revision=revision)
    # The echo answers as many bytes; its request is longer by them, in its disfavour.
    echoed = mcp.call(TOOL, {"text": f"{path} (v1):\n1: {content}"}, revision=revision)
    rounds = []
    for number in range(bench.scale.rounds):
        for side, server, request in (
            (f"echo {revision}", echo, echoed),
            (f"gateway {revision}", gateway, viewed),
        ):
            outcome = _send(bench, server, request, connections=CONNECTIONS)
            _require(outcome, content)
            rounds.append(summarise(outcome, side=side, number=number))
    return rounds


def _compare(rounds: list[Round], *, revision: str) -> list[Finding]:
    service, base = side_of(rounds, f"gateway {revision}"), side_of(rounds, f"echo {revision}")
    faults = sum(
        sum(count for status, count in one.statuses.items() if status != 200)
        + sum(one.failures.values())
        + one.hung
        for one in rounds
    )
    return [
        Finding(
            what=f"gateway, {revision}: share of the SDK's echo",
            value=median_ratio(rounds, f"gateway {revision}", denominator=f"echo {revision}"),
            target=_CALLS,
            notes=f"{service.per_second:,.0f}/s of {base.per_second:,.0f}/s",
        ),
        Finding(
            what=f"gateway, {revision}: answers other than 200",
            value=faults,
            target=Target(at_most=0),
        ),
    ]


def _send(bench: Bench, server: Server, request: bytes, *, connections: int) -> Outcome:
    return run_load(
        Load(
            port=server.port,
            requests=[request],
            connections=connections,
            seconds=bench.scale.seconds,
        )
    )


def _require(outcome: Outcome, text: str) -> None:
    if text not in mcp.first_text(outcome.first_body):
        raise RuntimeError(f"a wrong answer: {outcome.first_body[:300]!r}")


@contextmanager
def _mounted(bench: Bench, *, small: bool = False) -> Iterator[Server]:
    """A gateway over a scope of 10,000 documents, or of 100."""
    scope = SMALL_SCOPE if small else LARGE_SCOPE
    name = f"gateway {scope}"
    if name not in bench.loaded:
        asyncio.run(
            datasets.load_documents(
                bench.stand.dsn,
                first_scope=names.FIRST_SCOPE + scope,
                scopes=1,
                paths=SMALL if small else LARGE,
                content=texts.content(),
            )
        )
        bench.loaded[name] = True
    with bench.stand.gateway(mounts=f"scope={names.scope(scope)},path=user") as gateway:
        yield gateway
