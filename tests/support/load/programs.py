"""What one client of a run does: small programs, named so that processes can be told of them."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import msgspec

from tests.support.histories.erasures import secret_of
from tests.support.histories.records import Answered
from tests.support.load.clients import Client

MEETING_SECONDS = 20
INSIST_SECONDS = 60


class Signals(Protocol):
    """What clients in several processes tell each other while they run."""

    def stopped(self) -> bool: ...

    def arrive(self, seat: int, meeting: int) -> None: ...

    def all_arrived(self, seats: range, meeting: int) -> bool: ...


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a timetable.

    With a `meeting` the client first waits until everybody at its table has come to that one,
    and then for so many microseconds more.
    """

    route: str
    request: dict[str, Any]
    name: str | None = None
    key: str | None = None
    replica: int = 0
    meeting: int | None = None
    delay: int = 0


async def timetable(
    client: Client,
    signals: Signals,
    *,
    entries: Sequence[Any],
    seat: int = 0,
    table: tuple[int, int] = (0, 1),
) -> None:
    """Send the requests one after the other; `table` is a range of seats."""
    for entry in msgspec.convert(entries, list[Entry]):
        if entry.meeting is not None:
            await meet(signals, seat, range(*table), meeting=entry.meeting)
            await asyncio.sleep(entry.delay / 1e6)
        client.prefer(entry.replica)
        await client.call(entry.route, entry.request, name=entry.name, key=entry.key)


async def meet(signals: Signals, seat: int, seats: range, *, meeting: int) -> None:
    signals.arrive(seat, meeting)
    async with asyncio.timeout(MEETING_SECONDS):
        while not signals.all_arrived(seats, meeting):  # noqa: ASYNC110 - they are other processes
            await asyncio.sleep(0.0002)


async def count_up(
    client: Client, signals: Signals, *, scope: str, path: str, increments: int
) -> None:
    """Add one to a counter so many times, reading it again whenever somebody was quicker."""
    done = 0
    while done < increments and not signals.stopped():
        read = await client.call("memory/read", {"scope": scope, "path": path})
        assert isinstance(read.outcome, Answered)
        document = read.outcome.answer["document"]
        write = await client.call(
            "memory/write",
            {
                "scope": scope,
                "path": path,
                "content": str(int(document["content"]) + 1),
                "expected_version": document["version"],
            },
        )
        done += isinstance(write.outcome, Answered)


async def write_blindly(
    client: Client, signals: Signals, *, scope: str, path: str, count: int
) -> None:
    """Overwrite one path, and look at it now and then."""
    for number in range(count):
        name = client.next_name()
        request = {"scope": scope, "path": path, "content": secret_of(name)}
        await client.call("memory/write", request, name=name)
        if number % 5 == 4:
            await client.call("memory/read", {"scope": scope, "path": path})


async def append(client: Client, signals: Signals, *, conversation: str, count: int) -> None:
    """Append to one conversation, and ask for its length now and then."""
    for number in range(count):
        name = client.next_name()
        await client.call("conversation/append_turn", turn_of(conversation, name), name=name)
        if number % 5 == 4:
            request = {"conversation_id": conversation}
            await client.call("conversation/last_turn_number", request)


def turn_of(conversation: str, name: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"{secret_of(name)} said"}]
    return {"conversation_id": conversation, "messages": messages}


async def storm(
    client: Client,
    signals: Signals,
    *,
    scope: str,
    paths: Sequence[str],
    seed: int,
    count: int,
    redacts: bool = False,
) -> None:
    """Write, delete, rename and look at a few paths in no order, without keys."""
    source = random.Random(seed)
    for _ in range(count):
        if signals.stopped():
            return
        name = client.next_name()
        route, request = random_act(source, name, scope=scope, paths=paths, redacts=redacts)
        await client.call(route, request, name=name)


def random_act(
    source: random.Random, name: str, *, scope: str, paths: Sequence[str], redacts: bool
) -> tuple[str, dict[str, Any]]:
    path, other = source.sample(list(paths), 2)
    weights = {"write": 6, "expect": 4, "delete": 3, "rename": 4, "read": 4, "list_documents": 1}
    if redacts:
        weights["redact"] = 1
    (verb,) = source.choices(list(weights), list(weights.values()))
    at_path = {"scope": scope, "path": path}
    match verb:
        case "write":
            return "memory/write", {**at_path, "content": secret_of(name)}
        case "expect":
            request = {**at_path, "content": secret_of(name)}
            return "memory/write", {**request, "expected_version": source.randrange(1, 40)}
        case "rename":
            return "memory/rename", {"scope": scope, "src": path, "dst": other}
        case "list_documents":
            return "memory/list_documents", {"scope": scope}
        case "redact":
            return "memory/redact", at_path if source.random() < 0.7 else {"scope": scope}
    return f"memory/{verb}", at_path


async def work_on(
    client: Client,
    signals: Signals,
    *,
    scope: str,
    paths: Sequence[str],
    conversation: str,
    seed: int,
    replica: int,
) -> None:
    """Work under keys until told to stop, insisting on an outcome through every fault."""
    source = random.Random(seed)
    client.prefer(replica)
    while not signals.stopped():
        name = client.next_name()
        if source.random() < 0.4:
            route, request = "conversation/append_turn", turn_of(conversation, name)
        else:
            route, request = random_act(source, name, scope=scope, paths=paths, redacts=False)
        await client.insist(route, request, name=name, within=INSIST_SECONDS)


Program = Callable[..., Awaitable[None]]

PROGRAMS: dict[str, Program] = {
    "timetable": timetable,
    "count_up": count_up,
    "write_blindly": write_blindly,
    "append": append,
    "storm": storm,
    "work_on": work_on,
}
