"""Two ways to do one thing, call by call in turns, so that neither meets another machine."""

from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter

from bench.context import Bench
from bench.loads import Outcome
from bench.summaries import Round, summarise

_TURN = 20

Call = Callable[[], Awaitable[object]]


async def in_turns(calls: Mapping[str, Call], *, number: int, bench: Bench) -> list[Round]:
    """The round of that number: one side's calls, by its name, and then the other's."""
    taken: dict[str, list[float]] = {side: [] for side in calls}
    ends = perf_counter() + 2 * bench.scale.flat_seconds
    while perf_counter() < ends:
        for side, call in calls.items():
            for _ in range(_TURN):
                started = perf_counter()
                await call()
                taken[side].append(perf_counter() - started)
    return [
        summarise(_outcome(latencies), side=side, number=number)
        for side, latencies in taken.items()
    ]


def _outcome(latencies: list[float]) -> Outcome:
    return Outcome(
        seconds=sum(latencies),
        latencies=latencies,
        statuses={200: len(latencies)},
        failures={},
        hung=0,
        first_body=b"",
    )
