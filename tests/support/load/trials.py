"""Many small races in one run: in every lane one trial after another.

All requests of a trial belong to one fresh scope or conversation. After its first ones the
clients of the lane, each in a process of its own, meet; then each makes its racing request.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from tests.support.histories.records import Attempt
from tests.support.load.crews import Task
from tests.support.load.programs import Entry

LANES = 6
JITTER_MICROSECONDS = 1500

Request: TypeAlias = tuple[str, dict[str, Any]]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """`first` is done in order before the race; `racing` all at once."""

    unit: str
    first: Sequence[Request] = ()
    racing: Sequence[Request] = ()
    keyed: bool = False

    def name_of(self, number: int) -> str:
        """The racing requests are numbered after the first ones."""
        return f"{self.unit.removeprefix('race:')}x{number}"


MakeTrial: TypeAlias = Callable[[int, str], Trial]


def schedule(trials: Sequence[Trial], *, seed: int) -> list[Task]:
    """Spread the trials over lanes; each lane has a client for every racing request."""
    source = random.Random(seed)
    racers = max(len(trial.racing) for trial in trials)
    entries: list[list[Entry]] = [[] for _ in range(LANES * racers)]
    for number, trial in enumerate(trials):
        seat, meeting = (number % LANES) * racers, number // LANES + 1
        for index, request in enumerate(trial.first):
            entries[seat].append(_entry(trial, index, request, replica=number))
        for racer, request in enumerate(trial.racing):
            entry = _entry(trial, len(trial.first) + racer, request, replica=number + racer)
            delay = source.randrange(JITTER_MICROSECONDS)
            entries[seat + racer].append(
                msgspec.structs.replace(entry, meeting=meeting, delay=delay)
            )
    return [
        Task(
            name=f"client{seat}",
            program="timetable",
            arguments={
                "entries": msgspec.to_builtins(share),
                "seat": seat,
                "table": (seat - seat % racers, seat - seat % racers + racers),
            },
        )
        for seat, share in enumerate(entries)
    ]


def _entry(trial: Trial, index: int, request: Request, *, replica: int) -> Entry:
    name = trial.name_of(index)
    return Entry(
        route=request[0],
        request=request[1],
        name=name,
        key=name if trial.keyed else None,
        replica=replica,
    )


def count_overlaps(trials: Sequence[Trial], attempts: Sequence[Attempt]) -> int:
    """In how many trials the racing requests were all under way at one instant."""
    by_name = {attempt.name: attempt for attempt in attempts}
    overlaps = 0
    for trial in trials:
        indexes = range(len(trial.first), len(trial.first) + len(trial.racing))
        racing = [by_name[trial.name_of(index)] for index in indexes]
        overlaps += max(one.began for one in racing) < min(one.ended for one in racing)
    return overlaps
