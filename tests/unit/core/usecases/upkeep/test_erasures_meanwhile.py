"""An erasure at every moment of a pass: the text is sent no more, written nowhere, logged never."""

import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock
from commonhold.usecases.upkeep.passes import maintain
from commonhold.usecases.upkeep.semantic import SemanticStage
from tests.support.upkeep.gardens import NOW, PROJECT, USER, GardenCases, garden
from tests.support.upkeep.models import ActingModel, create, rename, replace

SECRET = "the colour of the door is teal"
ERASED = "text it was shown was erased meanwhile"


class HookedStore(InMemoryStore):
    """Erases one document after the nth call that a pass makes."""

    def __init__(self, *, clock: ControlledClock) -> None:
        super().__init__(clock=clock)
        self.calls: list[str] = []
        self.erase_after = -1
        self.is_pass = False

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or not inspect.iscoroutinefunction(found) or not self.is_pass:
            return found

        async def call(*arguments: Any, **options: Any) -> Any:
            answer = await found(*arguments, **options)
            self.calls.append(name)
            if len(self.calls) == self.erase_after:
                self.is_pass = False
                await self.redact(USER, path="door")
            return answer

        return call


async def run(
    store: HookedStore, clock: ControlledClock, model: ActingModel, *, erase_after: int
) -> Any:
    await store.write(USER, "door", SECRET)
    await store.write(USER, "other", "text")
    clock.set(NOW)
    store.erase_after, store.is_pass = erase_after, True
    report = await maintain(store, garden(), clock=clock, semantic=SemanticStage(model))
    store.is_pass = False
    return report


def pairs(model_answer: str) -> Callable[[ControlledClock], tuple[HookedStore, ActingModel]]:
    return lambda clock: (HookedStore(clock=clock), ActingModel(model_answer))


class TestErasures(GardenCases):
    async def test_what_was_erased_before_the_last_look_is_not_sent(
        self, clock: ControlledClock
    ) -> None:
        make = pairs('{"ops": []}')
        store, model = make(clock)
        await run(store, clock, model, erase_after=-1)
        assert SECRET in model.sent[0]
        last_look = len(store.calls) - store.calls[::-1].index("list_documents_page")
        for moment in range(1, last_look):
            store, model = make(clock)
            with capture_logs() as logs:
                report = await run(store, clock, model, erase_after=moment)
            assert len(model.sent) == 1, moment
            assert SECRET not in model.sent[0], (moment, store.calls[:moment])
            assert SECRET not in repr(logs) + repr(report)

    @pytest.mark.parametrize(
        "act",
        [
            lambda store: store.redact(USER, path="door"),
            lambda store: store.redact(USER),
        ],
        ids=["path", "scope"],
    )
    async def test_nothing_of_the_models_is_written_once_what_it_read_is_erased(
        self, clock: ControlledClock, act: Callable[[InMemoryStore], Awaitable[object]]
    ) -> None:
        store = HookedStore(clock=clock)
        operations = [
            create("/user/copy", SECRET),
            replace("/project/p", "x", SECRET),
            create("/project/new", SECRET),
        ]
        model = ActingModel(json.dumps({"ops": operations}), meanwhile=lambda: act(store))
        await store.write(PROJECT, "p", "x")
        report = await run(store, clock, model, erase_after=-1)
        assert report.writes == ()
        assert {skip.reason for skip in report.skipped} == {ERASED}
        assert not await holds_secret(store)

    async def test_an_erasure_of_what_was_not_shown_stops_nothing(
        self, clock: ControlledClock
    ) -> None:
        store = HookedStore(clock=clock)
        await store.write(USER, "gone", "x")
        await store.delete(USER, "gone")
        model = ActingModel(
            json.dumps({"ops": [create("/user/new", "y")]}),
            meanwhile=lambda: store.redact(USER, path="gone"),
        )
        report = await run(store, clock, model, erase_after=-1)
        assert [write.path for write in report.writes] == ["/user/new"]

    async def test_a_move_carries_no_erased_text_into_another_mount(
        self, clock: ControlledClock
    ) -> None:
        make = pairs(json.dumps({"ops": [rename("/user/door", "/project/door")]}))
        store, model = make(clock)
        report = await run(store, clock, model, erase_after=-1)
        assert [write.path for write in report.writes] == ["/project/door"]
        total = len(store.calls)
        for moment in range(1, total):
            store, model = make(clock)
            with capture_logs() as logs:
                await run(store, clock, model, erase_after=moment)
            assert not await holds_secret(store), (moment, store.calls)
            assert SECRET not in repr(logs)


async def holds_secret(store: InMemoryStore) -> bool:
    rows = [*await store.history(USER), *await store.history(PROJECT)]
    return any(SECRET in row.content for row in rows)
