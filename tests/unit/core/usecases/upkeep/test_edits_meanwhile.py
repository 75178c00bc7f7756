"""An edit at every moment of a pass: newer text stays, whatever the pass was about to do."""

import json
from typing import Any

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock
from commonhold.contract import MemoryStore
from commonhold.usecases.upkeep.passes import maintain
from commonhold.usecases.upkeep.reports import PassReport
from commonhold.usecases.upkeep.semantic import SemanticStage
from tests.support.plain_store import PlainStore
from tests.support.upkeep.gardens import ACTOR, NOW, OLD, PROJECT, USER, GardenCases, garden
from tests.support.upkeep.models import ActingModel, create, delete, rename, replace
from tests.support.upkeep.moments import Moments

NEVER = -1
# What a pass does with the document, and the call of the store that does it.
CHANGES = [
    (replace("/user/a", "one", "two"), "write"),
    (create("/user/a", "two"), "write"),
    (delete("/user/a"), "delete_if"),
    (rename("/user/a", "/user/b"), "rename_if"),
]


class Scene:
    """A document, and a pass with a model in which somebody else acts."""

    def __init__(self, store: Any, clock: ControlledClock, *operations: dict[str, Any]) -> None:
        self.store = store
        self.clock = clock
        self.calls: list[str] = []
        self.calls_before_model = 0
        self.model = ActingModel(json.dumps({"ops": operations}), meanwhile=self._count)

    async def run(self, text: str, *, path: str = "a", after: int) -> PassReport:
        """`text` is written to `path` of the user at that moment."""
        self.clock.set(OLD)
        await self.store.write(USER, "a", "one", actor="client:ana")
        self.clock.set(NOW)
        watched: Any = Moments(
            self.store, after=after, act=lambda: self.store.write(USER, path, text)
        )
        self.calls = watched.calls
        return await maintain(
            watched, garden(), clock=self.clock, semantic=SemanticStage(self.model)
        )

    async def _count(self) -> None:
        self.calls_before_model = len(self.calls)


async def content(store: MemoryStore, path: str, scope: str = USER) -> str | None:
    document = await store.read(scope, path)
    return None if document is None else document.content


class TestEdits(GardenCases):
    @pytest.mark.parametrize(("change", "act"), CHANGES, ids=lambda value: str(value)[:30])
    async def test_nothing_is_done_to_a_text_that_is_newer(
        self, clock: ControlledClock, change: dict[str, Any], act: str
    ) -> None:
        quiet = Scene(InMemoryStore(clock=clock), clock, change)
        assert len((await quiet.run("newer", after=NEVER)).writes) == 1
        for moment in range(quiet.calls_before_model, quiet.calls.index(act) + 1):
            scene = Scene(InMemoryStore(clock=clock), clock, change)
            report = await scene.run("newer", after=moment)
            assert report.writes == (), moment
            assert await content(scene.store, "a") == "newer", moment
            assert ACTOR not in {row.actor for row in await scene.store.history(USER)}

    @pytest.mark.parametrize("kind", [InMemoryStore, PlainStore])
    async def test_nothing_is_written_over_a_document_that_came(
        self, clock: ControlledClock, kind: type[Any]
    ) -> None:
        make = create("/user/new", "ours")
        quiet = Scene(kind(clock=clock), clock, make)
        assert len((await quiet.run("theirs", path="new", after=NEVER)).writes) == 1
        act = "create_if_absent" if kind is InMemoryStore else "write"
        # A plain store is looked at immediately before, and not asked.
        last = quiet.calls.index(act) + (1 if kind is InMemoryStore else 0)
        assert quiet.calls[last - 2 : last] == ["read", "read" if kind is PlainStore else act]
        for moment in range(quiet.calls_before_model, last):
            scene = Scene(kind(clock=clock), clock, make)
            report = await scene.run("theirs", path="new", after=moment)
            assert report.writes == (), moment
            assert await content(scene.store, "new") == "theirs", moment

    async def test_a_move_that_fails_takes_back_only_what_it_made(
        self, clock: ControlledClock
    ) -> None:
        made = create("/project/new", "ours")
        move = rename("/user/a", "/project/a")
        quiet = Scene(InMemoryStore(clock=clock), clock, made, move)
        await quiet.run("newer", after=NEVER)
        scene = Scene(InMemoryStore(clock=clock), clock, made, move)
        report = await scene.run("newer", after=quiet.calls.index("delete_if"))
        assert [write.path for write in report.writes] == ["/project/new"]
        assert await content(scene.store, "new", PROJECT) == "ours"
        assert await content(scene.store, "a", PROJECT) is None
        assert await content(scene.store, "a") == "newer"


class TestPlans(GardenCases):
    async def test_a_copy_goes_only_while_its_keeper_stands(self, clock: ControlledClock) -> None:
        async def run(after: int) -> tuple[Moments, InMemoryStore]:
            clock.set(OLD)
            store = InMemoryStore(clock=clock)
            for path in ("keeper", "same"):
                await store.write(USER, path, "same")
            watched: Any = Moments(
                store, after=after, act=lambda: store.write(USER, "keeper", "newer")
            )
            clock.set(NOW)
            await maintain(watched, garden(f"scope={USER},path=user"), clock=clock)
            return watched, store

        quiet, _ = await run(NEVER)
        for moment in range(1, quiet.calls.index("delete_if") + 1):
            _, store = await run(moment)
            assert await content(store, "same") == "same", moment
