"""Reads, writes and appends a second, each beside its floor.

Rounds of floor and service alternate, so that what else the machine does falls on both.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from bench import datasets, names, texts, wire
from bench.context import CONNECTIONS, Bench
from bench.findings import Finding, Report, Target
from bench.loads import Load
from bench.pgbench import Floor, Numbers, run_pgbench
from bench.summaries import Round, median_ratio, side_of, summarise
from commonhold.adapters.postgres.statements import statements_in
from commonhold.contract.messages import encode_messages
from commonhold.contract.search import fold, turn_text

SPREAD_SCOPES = 1_000
SPREAD_PATHS = 10
CONVERSATIONS = 1_000
# Each case has scopes of its own, so that each can run alone and in any order.
READ_SCOPES = 100_000
WRITE_SCOPES = 200_000
ONE_SCOPE = 300_000

_WRITES = Target(at_least=0.8)
_APPENDS = Target(at_least=0.75)
_READS = Target(at_least=0.45)
_ACTOR = "client:default"
_NOW = "2026-11-30T00:00:00Z"
_SQL = statements_in("commonhold")

Check = Callable[[Any], bool]


def reads(bench: Bench) -> Report:
    """One document out of 10,000, beside an echo that answers as many bytes."""
    _load(
        bench,
        first_scope=names.FIRST_SCOPE + READ_SCOPES,
        scopes=SPREAD_SCOPES,
        paths=SPREAD_PATHS,
    )
    load = Load(
        port=0,
        requests=_shuffled(
            wire.read(names.scope(READ_SCOPES + s), names.path(p))
            for s in range(SPREAD_SCOPES)
            for p in range(SPREAD_PATHS)
        ),
        connections=CONNECTIONS,
        seconds=bench.scale.seconds,
    )
    expected = texts.content()
    rounds = []
    for number in range(bench.scale.rounds):
        echoed = bench.load_echo(load)
        rounds.append(summarise(echoed, side="echo", number=number))
        served = bench.load_service(load)
        _require(served.first_body, lambda answer: answer["document"]["content"] == expected)
        rounds.append(summarise(served, side="service", number=number))
    return _report(
        bench, "reads", rounds=rounds, floor="echo", target=_READS, floor_name="the echo"
    )


def writes_spread(bench: Bench) -> Report:
    """Overwrites of 10,000 documents in 1,000 scopes."""
    return _writes(bench, "writes over 1,000 scopes", first=WRITE_SCOPES, scopes=SPREAD_SCOPES)


def writes_one_scope(bench: Bench) -> Report:
    """Overwrites of 10,000 documents in one scope."""
    return _writes(bench, "writes in one scope", first=ONE_SCOPE, scopes=1)


def appends_32(bench: Bench) -> Report:
    return _appends(bench, "appends, 32 connections", connections=32)


def appends_128(bench: Bench) -> Report:
    return _appends(bench, "appends, 128 connections", connections=128)


def _writes(bench: Bench, case: str, *, first: int, scopes: int) -> Report:
    content = texts.content()
    paths = SPREAD_SCOPES * SPREAD_PATHS // scopes
    _load(bench, first_scope=names.FIRST_SCOPE + first, scopes=scopes, paths=paths)
    _load(bench, first_scope=names.FIRST_FLOOR_SCOPE + first, scopes=scopes, paths=paths, prefix="")
    floor = Floor(
        statement=_SQL.documents.write_document,
        parameters=(
            ("scope", Numbers(names.FIRST_FLOOR_SCOPE + first, scopes)),
            ("path", Numbers(names.FIRST_PATH, paths)),
            ("content", content),
            ("actor", _ACTOR),
            ("now", _NOW),
        ),
    )
    load = Load(
        port=0,
        requests=_shuffled(
            wire.write(names.scope(first + s), names.path(p), content)
            for s in range(scopes)
            for p in range(paths)
        ),
        seconds=bench.scale.seconds,
    )
    rounds = _beside_pgbench(
        bench, floor, load, check=lambda answer: answer["document"]["content"] == content
    )
    return _report(bench, case, rounds=rounds, floor="pgbench", target=_WRITES)


def _appends(bench: Bench, case: str, *, connections: int) -> Report:
    messages = texts.turn_messages()
    floor = Floor(
        statement=_SQL.turns.append_turn,
        parameters=(
            ("conversation", Numbers(names.FIRST_FLOOR_CONVERSATION, CONVERSATIONS)),
            ("messages", encode_messages(messages).decode()),
            ("actor", _ACTOR),
            ("now", _NOW),
            ("search_text", fold(turn_text(messages))),
        ),
    )
    sent = [{"role": message.role, "content": str(message.content)} for message in messages]
    load = Load(
        port=0,
        requests=_shuffled(
            wire.append(names.conversation(number), sent) for number in range(CONVERSATIONS)
        ),
        connections=connections,
        seconds=bench.scale.seconds,
    )
    rounds = _beside_pgbench(
        bench,
        floor,
        load,
        check=lambda answer: answer["turn"]["messages"][1]["content"] == sent[1]["content"],
    )
    return _report(
        bench,
        case,
        rounds=rounds,
        floor="pgbench",
        target=_APPENDS,
        has_tail_target=connections == CONNECTIONS,
    )


def _beside_pgbench(bench: Bench, floor: Floor, load: Load, *, check: Check) -> list[Round]:
    rounds = []
    seconds = bench.scale.seconds
    for number in range(bench.scale.rounds):
        rate = run_pgbench(floor, bench.stand.dsn, clients=CONNECTIONS, seconds=seconds)
        rounds.append(Round(side="pgbench", number=number, per_second=rate))
        served = bench.load_service(load)
        _require(served.first_body, check)
        rounds.append(summarise(served, side="service", number=number))
    return rounds


def _report(
    bench: Bench,
    case: str,
    *,
    rounds: Sequence[Round],
    floor: str,
    target: Target,
    floor_name: str = "pgbench",
    has_tail_target: bool = True,
) -> Report:
    service, base = side_of(rounds, "service"), side_of(rounds, floor)
    faults = sum(_faults(one) for one in rounds)
    findings = [
        Finding(
            what=f"{case}: share of {floor_name}",
            value=median_ratio(rounds, "service", denominator=floor),
            target=target,
            notes=f"{service.per_second:,.0f}/s of {base.per_second:,.0f}/s",
        ),
        Finding(
            what=f"{case}: p99 / p50",
            value=service.tail,
            target=Target(at_most=bench.tail_limit) if has_tail_target else Target(),
            notes=(
                f"p50 {service.p50_ms:.2f} ms, p95 {service.p95_ms:.2f} ms, "
                f"p99 {service.p99_ms:.2f} ms; the echo's p99 / p50 is {bench.echo_side.tail:.2f}"
            ),
        ),
        Finding(what=f"{case}: answers other than 200", value=faults, target=Target(at_most=0)),
    ]
    return Report(case=case, findings=findings, rounds=rounds)


def _faults(one: Round) -> int:
    others = sum(count for status, count in one.statuses.items() if status != 200)
    return others + sum(one.failures.values()) + one.hung


def _load(
    bench: Bench, *, first_scope: int, scopes: int, paths: int, prefix: str = "user:"
) -> None:
    asyncio.run(
        datasets.load_documents(
            bench.stand.dsn,
            first_scope=first_scope,
            scopes=scopes,
            paths=paths,
            content=texts.content(),
            prefix=prefix,
        )
    )


def _shuffled(made: Any) -> list[bytes]:
    ordered = list(made)
    random.Random(len(ordered)).shuffle(ordered)
    return ordered


def _require(body: bytes, check: Check) -> None:
    if not check(msgspec.json.decode(body)):
        raise RuntimeError(f"a wrong answer: {body[:300]!r}")
