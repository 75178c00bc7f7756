"""Whether a total order of acts agrees with real time, and where observers fit into it.

The store numbers the acts of a key, so the order need not be searched for: what remains is
to see that no act stands before one that had ended when it began, and that every observer
finds a place among the states it may have seen. Both are decided exactly, in n log n.
"""

import heapq
import itertools
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec


class Interval(Protocol):
    """A span of the monotonic clock within which something took effect."""

    @property
    def began(self) -> int: ...

    @property
    def ended(self) -> int: ...


class Observer(msgspec.Struct, frozen=True, kw_only=True):
    """Something that saw one of the states `places`, ascending; state n follows act n."""

    began: int
    ended: int
    places: Sequence[int]
    what: str


def first_inversion(acts: Sequence[Interval]) -> tuple[int, int] | None:
    """Return i < j where act j had ended before act i began, if there are such."""
    earliest = len(acts) - 1
    for index in range(len(acts) - 2, -1, -1):
        if acts[earliest].ended < acts[index].began:
            return index, earliest
        if acts[index].ended < acts[earliest].ended:
            earliest = index
    return None


def misplaced(acts: Sequence[Interval], observers: Sequence[Observer]) -> list[Observer]:
    """Return the observers that no state at their time, or no order among them, explains.

    Each takes the least state it may: after every act and observer that ended before it
    began. A lesser choice never hinders a later one, so a failure is a proof.
    """
    frontiers = _Frontiers(acts)
    placed: list[tuple[int, int]] = []
    passed = 0
    failures = []
    for observer in sorted(observers, key=lambda one: one.began):
        while placed and placed[0][0] < observer.began:
            passed = max(passed, heapq.heappop(placed)[1])
        least = max(passed, frontiers.settled_before(observer.began))
        choice = bisect_left(observer.places, least)
        if choice == len(observer.places) or observer.places[choice] > frontiers.possible_at(
            observer.ended
        ):
            failures.append(observer)
            continue
        heapq.heappush(placed, (observer.ended, observer.places[choice]))
    return failures


class _Frontiers:
    """For any instant: the state surely reached by then, and the last one possible by then."""

    def __init__(self, acts: Sequence[Interval]) -> None:
        by_end = sorted((act.ended, state) for state, act in enumerate(acts, start=1))
        self._ends = [ended for ended, _ in by_end]
        self._settled = [0]
        for _, state in by_end:
            self._settled.append(max(self._settled[-1], state))
        by_start = sorted(((act.began, state) for state, act in enumerate(acts)), reverse=True)
        self._starts = [-began for began, _ in by_start]
        self._possible = [len(acts)]
        for _, state in by_start:
            self._possible.append(min(self._possible[-1], state))

    def settled_before(self, instant: int) -> int:
        return self._settled[bisect_left(self._ends, instant)]

    def possible_at(self, instant: int) -> int:
        """The state before the first act that began after the instant."""
        return self._possible[bisect_left(self._starts, -instant)]


def is_serializable(
    acts: Mapping[str, Interval], sequences: Sequence[Sequence[str]]
) -> list[str] | None:
    """Return None if one order of all acts agrees with every sequence and with real time.

    Else the names that block one another: an act that is in several sequences, as a rename
    is, ties their orders together.
    """
    waits = dict.fromkeys(acts, 0)
    followers: dict[str, list[str]] = {name: [] for name in acts}
    for sequence in sequences:
        for before, after in itertools.pairwise(sequence):
            if before != after:
                waits[after] += 1
                followers[before].append(after)
    ready = [(acts[name].began, name) for name, count in waits.items() if count == 0]
    heapq.heapify(ready)
    by_end = sorted((act.ended, name) for name, act in acts.items())
    done: set[str] = set()
    head = 0
    while ready:
        began, name = heapq.heappop(ready)
        while by_end[head][1] in done:
            head += 1
        if by_end[head][1] != name and by_end[head][0] < began:
            return [by_end[head][1], name]
        done.add(name)
        for follower in followers[name]:
            waits[follower] -= 1
            if waits[follower] == 0:
                heapq.heappush(ready, (acts[follower].began, follower))
    stuck = [name for name in acts if name not in done]
    return stuck or None
