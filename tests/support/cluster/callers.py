"""Clients that write, read and call tools through the Services while a cluster is changed.

Every act has an idempotency key and may be repeated once: at once after a lost connection,
and after the second that Retry-After names where the answer was 503.
"""

import asyncio
import random
import secrets
import threading
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

import msgspec

from tests.support.cluster.commands import eventually
from tests.support.cluster.tools import LineLedger, ToolClient
from tests.support.histories.idempotency import check_keys
from tests.support.histories.records import Answered, Outcome, Unknown, Violation
from tests.support.load.clients import Client
from tests.support.load.programs import random_act, turn_of
from tests.support.load.stands import Stand, judge

PAUSE_SECONDS = 0.1
RETRY_AFTER_SECONDS = 1.0
PATIENCE_SECONDS = 40.0
ACTS_PER_UNIT = 150
"""How long a writer stays with one scope and one conversation: a history is judged whole."""
LINES_PER_DOCUMENT = 20
WRITERS = ("w0", "w1", "w2")
TOOL_CALLERS = ("t0", "t1")
UNAVAILABLE = {"status 503", "the tool failed"}
"""What a client is told while the database is away."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One act of a client, and how its attempts ended."""

    caller: str
    what: str
    began: float
    ended: float
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> bool:
        return isinstance(self.outcomes[-1], Unknown)

    @property
    def unavailable(self) -> bool:
        last = self.outcomes[-1]
        return isinstance(last, Unknown) and last.why in UNAVAILABLE


class Entrances(msgspec.Struct, frozen=True, kw_only=True):
    """Where the Services are reached from outside."""

    host: str
    state_port: int
    gateway_port: int

    def stand(self, token: str) -> Stand:
        return Stand(dsn="", host=self.host, ports=[self.state_port], token=token)


class Callers:
    """A few clients, at work in a thread of their own while the block lasts."""

    def __init__(self, entrances: Entrances, *, token: str, mount: str, scope: str) -> None:
        self.calls: list[Call] = []
        self._entrances = entrances
        self._token = token
        # Keys and units of this run alone: the release may have served another.
        self._run = f"r{secrets.token_hex(3)}"
        self._mount = mount
        self._scope = scope
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()))
        host = entrances.host
        self._writers = {
            name: Client(
                [entrances.state_port],
                host=host,
                token=token,
                name=f"{self._run}{name}",
                patience=PATIENCE_SECONDS,
            )
            for name in WRITERS
        }
        self._tools = {
            name: ToolClient(
                host,
                entrances.gateway_port,
                token=token,
                patience=PATIENCE_SECONDS,
                keeps=name == TOOL_CALLERS[0],
            )
            for name in TOOL_CALLERS
        }
        self._ledger = LineLedger()

    def __enter__(self) -> Self:
        self._thread.start()
        self.go_on()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def use_token(self, token: str) -> None:
        """Present another token from now on."""
        self._token = token
        for writer in self._writers.values():
            writer.token = token
        for tool in self._tools.values():
            tool.token = token

    def go_on(self, acts: int = 3) -> None:
        """Wait until every client has had so many acts answered that it began after now."""
        now = time.monotonic()

        def worked() -> bool:
            answered = [call.caller for call in self.since(now) if not call.failed]
            return all(answered.count(name) >= acts for name in (*WRITERS, *TOOL_CALLERS))

        eventually(worked, f"every client has {acts} answers")

    def since(self, moment: float) -> list[Call]:
        """The calls that ended after the moment."""
        return [call for call in tuple(self.calls) if call.ended >= moment]

    def failures_since(self, moment: float) -> list[Call]:
        return [call for call in self.since(moment) if call.failed]

    def violations(self) -> list[Violation]:
        """What the stores hold that cannot be, given what the clients were told.

        For when they have stopped.
        """
        attempts = [one for writer in self._writers.values() for one in writer.attempts]
        scopes = {one.request["scope"] for one in attempts if "scope" in one.request}
        talks = {
            one.request["conversation_id"] for one in attempts if "conversation_id" in one.request
        }
        stand = self._entrances.stand(self._token)
        (edited,) = stand.scopes([self._scope])
        return [
            *judge(attempts, scopes=stand.scopes(scopes), conversations=stand.conversations(talks)),
            *check_keys(attempts),
            *self._ledger.violations(edited),
        ]

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            for name, writer in self._writers.items():
                group.create_task(self._write(name, writer))
            for name, tool in self._tools.items():
                group.create_task(self._edit(name, tool))

    async def _write(self, caller: str, client: Client) -> None:
        """Write, rename, delete, read and append; all but the first over a new connection each."""
        source = random.Random(caller)
        number = 0
        while not self._stopping.is_set():
            unit, number = f"{self._run}{caller}u{number // ACTS_PER_UNIT}", number + 1
            name = client.next_name()
            if source.random() < 0.4:
                route, request = "conversation/append_turn", turn_of(f"callers-{unit}", name)
            else:
                route, request = random_act(
                    source, name, scope=f"callers:{unit}", paths=["a", "a/b", "c"], redacts=False
                )

            async def attempt(
                route: str = route, request: dict[str, object] = request, name: str = name
            ) -> Outcome:
                return (await client.call(route, request, name=name, key=name)).outcome

            await self._act(caller, route, attempt)
            if caller != WRITERS[0]:
                client.close()
        client.close()

    async def _edit(self, caller: str, tool: ToolClient) -> None:
        """Make one document after another, and put lines into it."""
        number = 0
        while not self._stopping.is_set():
            path = f"callers/{self._run}/{caller}/{number}"
            number += 1
            for line in range(LINES_PER_DOCUMENT):
                text = f"{self._run}{caller}d{number}l{line}"
                if line == 0:
                    arguments: dict[str, str | int] = {"command": "create", "file_text": text}
                else:
                    arguments = {"command": "insert", "insert_line": 0, "insert_text": text}
                arguments["path"] = f"/{self._mount}/{path}"

                async def attempt(
                    arguments: dict[str, str | int] = arguments, key: str = text
                ) -> Outcome:
                    return await tool.call(arguments, key=key)

                outcome = await self._act(caller, str(arguments["command"]), attempt)
                self._ledger.note(path, text, outcome=outcome)
                if self._stopping.is_set() or (line == 0 and not isinstance(outcome, Answered)):
                    break
        await tool.close()

    async def _act(
        self, caller: str, what: str, attempt: Callable[[], Awaitable[Outcome]]
    ) -> Outcome:
        began = time.monotonic()
        outcomes = [await attempt()]
        if isinstance(outcomes[0], Unknown):
            if outcomes[0].why in UNAVAILABLE:
                await asyncio.sleep(RETRY_AFTER_SECONDS)
            outcomes.append(await attempt())
        self.calls.append(
            Call(
                caller=caller,
                what=what,
                began=began,
                ended=time.monotonic(),
                outcomes=tuple(outcomes),
            )
        )
        await asyncio.sleep(PAUSE_SECONDS)
        return outcomes[-1]
