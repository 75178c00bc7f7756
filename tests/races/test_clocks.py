"""Two replicas whose clocks are ten seconds apart race for the same documents and turns.

The service has no knob for its clock, so here the stores themselves race in one process.
"""

import asyncio
import itertools
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from commonhold.adapters.postgres import PostgresStore
from commonhold.contract import ScopeArchive
from commonhold.contract.errors import CommonholdError
from commonhold.contract.messages import Message
from tests.races.conftest import Scaled, Summarise
from tests.support.histories.conversations import ConversationState
from tests.support.histories.records import Answered, Attempt, Outcome, Refused
from tests.support.histories.timelines import CLIENT
from tests.support.load.programs import random_act, turn_of
from tests.support.load.stands import judge
from tests.support.pools import open_pool

SKEW = timedelta(seconds=5)
CLIENTS = 6
SCOPE = "race:clocks"
CONVERSATION = "clocks"
PATHS = ("a", "a/b", "c")


class SkewedClock:
    def __init__(self, skew: timedelta) -> None:
        self._skew = skew

    def now(self) -> datetime:
        return datetime.now(UTC) + self._skew


@asynccontextmanager
async def open_store(dsn: str, skew: timedelta) -> AsyncIterator[PostgresStore]:
    pool = await open_pool(dsn, size=CLIENTS)
    try:
        yield PostgresStore(pool, clock=SkewedClock(skew))
    finally:
        await pool.close()


async def perform(store: PostgresStore, route: str, request: dict[str, Any], name: str) -> Any:
    """Do what the route says, and answer in the shape of the wire."""
    actor = f"{CLIENT}{name}"
    match route, request:
        case "memory/write", {"scope": scope, "path": path, "content": content}:
            expected = request.get("expected_version")
            write = store.write(scope, path, content, actor=actor, expected_version=expected)
            answer: Any = {"document": await write}
        case "memory/delete", {"scope": scope, "path": path}:
            answer = {"deleted": await store.delete(scope, path, actor=actor)}
        case "memory/rename", {"scope": scope, "src": source, "dst": target}:
            answer = {"document": await store.rename(scope, source, target, actor=actor)}
        case "memory/redact", {"scope": scope}:
            answer = {"count": await store.redact(scope, path=request.get("path"), actor=actor)}
        case "memory/read", {"scope": scope, "path": path}:
            answer = {"document": await store.read(scope, path)}
        case "memory/list_documents", {"scope": scope}:
            answer = {"entries": await store.list_documents(scope), "next_cursor": None}
        case _, {"conversation_id": conversation, "messages": given}:
            messages = msgspec.convert(given, tuple[Message, ...])
            answer = {"turn": await store.append_turn(conversation, messages, actor=actor)}
        case _:
            raise AssertionError(route)
    return answer


async def record(
    store: PostgresStore, route: str, request: dict[str, Any], *, name: str
) -> Attempt:
    began = time.monotonic_ns()
    outcome: Outcome
    try:
        outcome = Answered(answer=msgspec.to_builtins(await perform(store, route, request, name)))
    except CommonholdError as refusal:
        outcome = Refused(code=refusal.code, details=dict(refusal.details))
    ended = time.monotonic_ns()
    return Attempt(
        name=name, route=route, request=request, began=began, ended=ended, outcome=outcome
    )


async def storm(store: PostgresStore, client: int, count: int) -> list[Attempt]:
    source = random.Random(client)
    attempts = []
    for number in range(count):
        name = f"clock{client}n{number}"
        route, request = random_act(source, name, scope=SCOPE, paths=PATHS, redacts=True)
        attempts.append(await record(store, route, request, name=name))
    return attempts


async def append(store: PostgresStore, client: int, count: int) -> list[Attempt]:
    names = [f"clock{client}t{number}" for number in range(count)]
    return [
        await record(store, "conversation/append_turn", turn_of(CONVERSATION, name), name=name)
        for name in names
    ]


Work = Callable[[PostgresStore, int, int], Awaitable[list[Attempt]]]


async def race(stores: Sequence[PostgresStore], work: Work, count: int) -> list[Attempt]:
    shares = await asyncio.gather(
        *(work(stores[client % len(stores)], client, count) for client in range(2 * CLIENTS))
    )
    return list(itertools.chain.from_iterable(shares))


@pytest.mark.race
async def test_stamps_of_documents_follow_their_numbers(
    database_dsn: str, scaled: Scaled, summarise: Summarise
) -> None:
    async with open_store(database_dsn, SKEW) as fast, open_store(database_dsn, -SKEW) as slow:
        attempts = await race([fast, slow], storm, scaled(80))
        live = [await slow.read(SCOPE, entry.path) for entry in await slow.list_documents(SCOPE)]
        state = ScopeArchive(
            scope=SCOPE,
            documents=tuple(document for document in live if document is not None),
            versions=await slow.history(SCOPE),
            redactions=await slow.redactions(SCOPE),
        )
    summarise(attempts, rows=len(state.versions))
    assert judge(attempts, scopes=[state]) == []


@pytest.mark.race
async def test_stamps_of_turns_follow_their_numbers(
    database_dsn: str, scaled: Scaled, summarise: Summarise
) -> None:
    async with open_store(database_dsn, SKEW) as fast, open_store(database_dsn, -SKEW) as slow:
        attempts = await race([fast, slow], append, scaled(50))
        turns = msgspec.to_builtins(await slow.read_turns(CONVERSATION))
    summarise(attempts, turns=len(turns))
    state = ConversationState(conversation_id=CONVERSATION, turns=turns)
    assert judge(attempts, conversations=[state]) == []
    assert len(turns) == len(attempts)
