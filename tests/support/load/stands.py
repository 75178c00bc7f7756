"""A place to race: replicas on one database, and the means to read and judge what they keep."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from commonhold.contract.documents import ScopeArchive
from tests.support.histories.conversations import ConversationState, check_conversation
from tests.support.histories.databases import find_everywhere
from tests.support.histories.documents import check_scope
from tests.support.histories.erasures import SECRET
from tests.support.histories.records import Attempt, Violation
from tests.support.load.clients import LOOPBACK, Client
from tests.support.load.states import ask, read_conversation, read_scope

READERS = 8

State = TypeVar("State", ScopeArchive, ConversationState)
Result = TypeVar("Result")


class Stand(msgspec.Struct, frozen=True, kw_only=True):
    dsn: str
    ports: Sequence[int]
    token: str
    host: str = LOOPBACK

    def client(self, name: str) -> Client:
        return Client(self.ports, token=self.token, name=name, host=self.host)

    def tell(self, requests: Sequence[tuple[str, dict[str, Any]]], *, name: str) -> list[Attempt]:
        """Make requests one after the other, each to its answer."""
        return run_apart(self._tell(requests, name))

    async def _tell(
        self, requests: Sequence[tuple[str, dict[str, Any]]], name: str
    ) -> list[Attempt]:
        client = self.client(name)
        for route, request in requests:
            await ask(client, route, request)
        client.close()
        return client.attempts

    def repeat(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """Make attempts again, each under its own name and key, at either replica."""
        return run_apart(self._repeat(attempts))

    async def _repeat(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        client = self.client("repeat")
        for number, one in enumerate(attempts):
            client.prefer(number)
            await client.call(one.route, one.request, name=one.name, key=one.key)
        client.close()
        return client.attempts

    def scopes(self, names: Iterable[str]) -> list[ScopeArchive]:
        return run_apart(self._read_all(read_scope, list(names)))

    def conversations(self, names: Iterable[str]) -> list[ConversationState]:
        return run_apart(self._read_all(read_conversation, list(names)))

    def secrets(self) -> dict[str, set[str]]:
        """Every secret that stands anywhere in the database, with the columns that hold it."""
        return run_apart(find_everywhere(self.dsn, SECRET))

    async def _read_all(self, read: Any, names: list[str]) -> list[Any]:
        """Read from all replicas alternately, a few at a time."""
        states: dict[str, Any] = {}
        waiting = list(reversed(names))

        async def work(number: int) -> None:
            client = self.client(f"reader{number}")
            client.prefer(number)
            while waiting:
                name = waiting.pop()
                states[name] = await read(client, name)
            client.close()

        async with asyncio.TaskGroup() as group:
            for number in range(READERS):
                group.create_task(work(number))
        return [states[name] for name in names]


def run_apart(coroutine: Coroutine[None, None, Result]) -> Result:
    """Run to the end on a loop of its own, whatever loop pytest has set here."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(asyncio.run, coroutine).result()


def judge(
    attempts: Sequence[Attempt],
    *,
    scopes: Iterable[ScopeArchive] = (),
    conversations: Iterable[ConversationState] = (),
) -> list[Violation]:
    """Check every unit against the attempts that name it."""
    by_unit: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        unit = attempt.request.get("scope") or attempt.request.get("conversation_id")
        by_unit.setdefault(str(unit), []).append(attempt)
    found = []
    for scope in scopes:
        found += check_scope(by_unit.get(scope.scope, ()), scope)
    for conversation in conversations:
        found += check_conversation(by_unit.get(conversation.conversation_id, ()), conversation)
    return found
