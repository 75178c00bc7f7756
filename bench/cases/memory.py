"""What the service process holds: after many requests, and under bodies too large for it.

Each case has a service of its own, so that nothing before it counts.
"""

import random

from bench import names, texts, wire
from bench.context import CONNECTIONS, Bench
from bench.findings import Finding, Report, Target
from bench.loads import OK, Load, Outcome, run_load
from bench.processes import forget_peak, peak_mib, resident_mib

SMALL_BODY_LIMIT = 16 * 1024
SCOPE = 800_000
MEMORY_LIMIT_MIB = 120
IN_FLIGHT_MIB = 256
# bench/README.md says what the copies are.
COPIES = 4
_FLAT = Target(at_most=1.1)
_UNAVAILABLE = 503
_PATIENCE_SECONDS = 120.0


def small_bodies(bench: Bench) -> Report:
    """Writes, reads and appends with bodies of up to 16 KiB."""
    with bench.stand.service() as service:
        pid = service.child.pid
        sent = _mixed()
        warm = _send(service.port, sent, count=bench.scale.memory_requests // 10)
        before = resident_mib(pid)
        outcome = _send(service.port, sent, count=bench.scale.memory_requests)
        after = resident_mib(pid)
    findings = [
        Finding(
            what=f"resident memory after {bench.scale.memory_requests:,} requests",
            value=after,
            unit="MiB",
            target=Target(at_most=MEMORY_LIMIT_MIB),
            notes=f"bodies of up to 16 KiB; {len(outcome.latencies):,} answers 200",
        ),
        Finding(
            what="the same / before them",
            value=after / before,
            target=_FLAT,
            notes=f"{before:.1f} MiB after the first {len(warm.latencies):,}",
        ),
        Finding(
            what="small bodies: answers other than 200",
            value=outcome.faults + warm.faults,
            target=Target(at_most=0),
        ),
    ]
    return Report(case="memory, small bodies", findings=findings)


def large_bodies(bench: Bench) -> Report:
    """32 clients send 60 MiB at once; what does not fit is answered 503 at once."""
    body = texts.content(1024) * (bench.scale.large_body_bytes // 1024)
    sent = [wire.write(names.scope(SCOPE), names.path(number), body) for number in range(2)]
    with bench.stand.service() as service:
        pid = service.child.pid
        _send(service.port, _mixed(), count=2_000)
        before = resident_mib(pid)
        forget_peak(pid)
        outcome = run_load(
            Load(
                port=service.port,
                requests=sent,
                connections=CONNECTIONS,
                requests_each=1,
                patience_seconds=_PATIENCE_SECONDS,
            )
        )
        peak = peak_mib(pid)
        after = _send(service.port, _mixed(), count=2_000)
        settled = resident_mib(pid)
    return Report(
        case="memory, large bodies",
        findings=[
            Finding(
                what="peak memory under 32 bodies of 60 MiB",
                value=peak,
                unit="MiB",
                target=Target(at_most=MEMORY_LIMIT_MIB + COPIES * IN_FLIGHT_MIB),
                notes=f"from {before:.1f} MiB; {settled:.1f} MiB afterwards",
            ),
            Finding(
                what="large bodies: clients left without an answer",
                value=outcome.hung + sum(outcome.failures.values()),
                target=Target(at_most=0),
                notes=_told(outcome),
            ),
            Finding(
                what="afterwards: answers other than 200",
                value=after.faults,
                target=Target(at_most=0),
            ),
        ],
    )


def _mixed() -> list[bytes]:
    drawn = random.Random(7)
    made: list[bytes] = []
    for number in range(1_000):
        text = texts.content(drawn.randint(1, SMALL_BODY_LIMIT - 512), seed=number)
        scope, path = names.scope(SCOPE + 1), names.path(number)
        made.append(wire.write(scope, path, text))
        made.append(wire.read(scope, path))
    for number in range(200):
        text = texts.content(drawn.randint(1, 2_000), seed=number)
        made.append(wire.append(f"memory-{number}", [{"role": "user", "content": text}]))
    drawn.shuffle(made)
    return made


def _send(port: int, sent: list[bytes], *, count: int) -> Outcome:
    return run_load(
        Load(
            port=port,
            requests=sent,
            connections=CONNECTIONS,
            requests_each=count // CONNECTIONS,
            patience_seconds=_PATIENCE_SECONDS,
        )
    )


def _told(outcome: Outcome) -> str:
    answered = outcome.statuses.get(OK, 0)
    refused = outcome.statuses.get(_UNAVAILABLE, 0)
    others = {s: n for s, n in outcome.statuses.items() if s not in {OK, _UNAVAILABLE}}
    return (
        f"{answered} answered 200, {refused} answered 503, others {others}, "
        f"cut {outcome.failures}, hung {outcome.hung}"
    )
