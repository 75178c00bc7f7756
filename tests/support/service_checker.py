"""Clients that write, read and call tools through a deployment while a test breaks it.

Every mutation carries an idempotency key, and is repeated with it until its outcome is known.
What the deployment keeps is judged at the end: nothing acknowledged may be lost, nothing may
have happened twice, and no refusal may have had an effect.
"""

import asyncio
import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import msgspec

from tests.support.histories.records import Attempt, Unknown, Violation
from tests.support.histories.tools import check_lines
from tests.support.load.clients import Client
from tests.support.load.programs import random_act, turn_of
from tests.support.load.stands import Stand, judge, run_apart
from tests.support.load.states import ask
from tests.support.load.tools import ToolClient

WRITERS = 2
CALLERS = 2
PATHS = ("a", "b", "c", "d")
# Between two acts of a client: the test looks for faults, not for the limit of the machine.
BREATH_SECONDS = 0.03
# Before a repetition, as `Retry-After: 1` asks for.
PAUSE_SECONDS = 1.0
DECIDED_SECONDS = 90.0
PATIENCE_SECONDS = 10.0
WAIT_SECONDS = 120.0


class Doors(msgspec.Struct, frozen=True, kw_only=True):
    """Where a deployment is reached on loopback, and a token that is held to nothing."""

    state_port: int
    gateway_port: int
    token: str
    # A mount of that token's client, and the scope behind it.
    mount: str = "user"
    scope: str = "user:me"


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """One call as a client means it, with all the attempts that it took."""

    attempts: Sequence[Attempt]

    @property
    def seconds(self) -> float:
        return (self.attempts[-1].ended - self.attempts[0].began) / 1e9

    @property
    def retries(self) -> int:
        return len(self.attempts) - 1

    @property
    def decided(self) -> bool:
        return not isinstance(self.attempts[-1].outcome, Unknown)

    @property
    def failed(self) -> bool:
        """Whether a client that repeats a call once would have seen it fail."""
        return self.retries > 1 or not self.decided


class Checker:
    """The clients of one run. They work until `stop`; then their history can be judged."""

    def __init__(self, doors: Doors) -> None:
        self.doors = doors
        self.run = secrets.token_hex(4)
        self.acts: list[Act] = []
        self._stopping = threading.Event()
        self._moved = threading.Condition()
        self._settled: Counter[str] = Counter()
        self._failure: BaseException | None = None
        self._scopes = [f"check:{self.run}{number}" for number in range(WRITERS)]
        self._conversations = [f"check-{self.run}-{number}" for number in range(WRITERS)]
        self._writers = [self._client(f"{self.run}w{number}") for number in range(WRITERS)]
        self._callers = [
            ToolClient(
                doors.gateway_port,
                token=doors.token,
                name=f"{self.run}t{number}",
                patience=PATIENCE_SECONDS,
            )
            for number in range(CALLERS)
        ]

    def wait_for(self, acts: int = 5) -> None:
        """Return when every client has had so many more of its calls answered."""
        with self._moved:
            goals = {name: self._settled[name] + acts for name in self._names()}
            reached = self._moved.wait_for(
                lambda: (
                    self._failure is not None
                    or all(self._settled[name] >= goal for name, goal in goals.items())
                ),
                WAIT_SECONDS,
            )
        if self._failure is not None:
            raise RuntimeError("a client of the checker failed") from self._failure
        assert reached, f"no progress: {dict(self._settled)} of {goals}"

    def stop(self) -> None:
        self._stopping.set()

    def violations(self) -> list[Violation]:
        """Read what the deployment keeps, and say where it differs from what clients were told."""
        stand = Stand(dsn="", ports=[self.doors.state_port], token=self.doors.token)
        attempts = [attempt for writer in self._writers for attempt in writer.attempts]
        found = judge(
            attempts,
            scopes=stand.scopes(self._scopes),
            conversations=stand.conversations(self._conversations),
        )
        for number, caller in enumerate(self._callers):
            found += check_lines(caller.attempts, run_apart(self._content(number)))
        found += [
            Violation("undecided", act.attempts[0].name, f"{act}")
            for act in self.acts
            if not act.decided
        ]
        return found

    def failed(self) -> list[Act]:
        return [act for act in self.acts if act.failed]

    def slowest_seconds(self) -> float:
        return max(act.seconds for act in self.acts)

    def told(self) -> str:
        """What the run amounted to, in one line."""
        reasons = Counter(
            attempt.outcome.why
            for act in self.acts
            for attempt in act.attempts
            if isinstance(attempt.outcome, Unknown)
        )
        return (
            f"{len(self.acts)} calls, {sum(act.retries > 0 for act in self.acts)} repeated, "
            f"{len(self.failed())} more than once, slowest {self.slowest_seconds():.1f} s, "
            f"{dict(reasons)}"
        )

    async def work(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(WRITERS):
                    group.create_task(self._write(number))
                for number in range(CALLERS):
                    group.create_task(self._call_tools(number))
        except BaseException as failure:
            with self._moved:
                self._failure = failure
                self._moved.notify_all()
            raise

    def _names(self) -> list[str]:
        kinds = (("w", WRITERS), ("t", CALLERS))
        return [f"{kind}{number}" for kind, count in kinds for number in range(count)]

    def _client(self, name: str) -> Client:
        ports = [self.doors.state_port]
        return Client(ports, token=self.doors.token, name=name, patience=PATIENCE_SECONDS)

    async def _write(self, number: int) -> None:
        client, source = self._writers[number], random.Random(number)
        scope, conversation = self._scopes[number], self._conversations[number]
        while not self._stopping.is_set():
            name = client.next_name()
            if source.random() < 0.4:
                route, request = "conversation/append_turn", turn_of(conversation, name)
            else:
                route, request = random_act(source, name, scope=scope, paths=PATHS, redacts=False)
            await self._settle(
                f"w{number}", partial(client.call, route, request, name=name, key=name)
            )
        client.close()

    async def _call_tools(self, number: int) -> None:
        caller, path = self._callers[number], f"/{self.doors.mount}/{self._path(number)}"
        create = {"command": "create", "path": path, "content": ""}
        await self._settle(f"t{number}", partial(caller.call, create, name=f"{self.run}c{number}"))
        while not self._stopping.is_set():
            name = caller.next_name()
            insert = {"command": "insert", "path": path, "insert_line": 0, "insert_text": name}
            await self._settle(f"t{number}", partial(caller.call, insert, name=name))
            view, look = {"command": "view", "path": path}, caller.next_name()
            await self._settle(f"t{number}", partial(caller.call, view, name=look))
        await caller.close()

    async def _settle(self, name: str, attempt: Callable[[], Awaitable[Attempt]]) -> None:
        """Repeat a call until its outcome is known, or for as long as a test may take."""
        deadline = time.monotonic() + DECIDED_SECONDS
        attempts = [await attempt()]
        while isinstance(attempts[-1].outcome, Unknown) and time.monotonic() < deadline:
            await asyncio.sleep(PAUSE_SECONDS)
            attempts.append(await attempt())
        self.acts.append(Act(attempts=attempts))
        with self._moved:
            self._settled[name] += not isinstance(attempts[-1].outcome, Unknown)
            self._moved.notify_all()
        await asyncio.sleep(BREATH_SECONDS)

    def _path(self, number: int) -> str:
        return f"checks/{self.run}{number}"

    async def _content(self, number: int) -> str:
        client = self._client(f"{self.run}r{number}")
        request = {"scope": self.doors.scope, "path": self._path(number)}
        document = (await ask(client, "memory/read", request))["document"]
        client.close()
        return document["content"] if document else ""


@contextmanager
def checking(doors: Doors) -> Iterator[Checker]:
    """Let the clients work beside the block, on a thread and a loop of their own."""
    checker = Checker(doors)
    with ThreadPoolExecutor(max_workers=1) as executor:
        working: Future[None] = executor.submit(asyncio.run, checker.work())
        try:
            checker.wait_for(1)
            yield checker
        finally:
            checker.stop()
            working.result(WAIT_SECONDS + DECIDED_SECONDS)
