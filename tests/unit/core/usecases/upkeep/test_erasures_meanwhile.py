"""An act at every moment of a pass: erased text goes nowhere, and newer text stays.

`NEVER` is a run in which nobody acts; it says how many moments there are.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock
from commonhold.contract import ClaimLostError
from commonhold.usecases.upkeep.passes import maintain
from commonhold.usecases.upkeep.reports import PassReport
from commonhold.usecases.upkeep.semantic import SemanticStage
from tests.support.plain_store import PlainStore
from tests.support.upkeep.gardens import NOW, OLD, PROJECT, USER, GardenCases, garden
from tests.support.upkeep.models import ActingModel, create, idle, rename, replace
from tests.support.upkeep.moments import Moments

SECRET = "the colour of the door is teal"
ERASED = "text it was shown was erased meanwhile"
OVERTAKEN = "written as text it was shown was erased: it may repeat it"
NEVER = -1

Act = Callable[[Any], Awaitable[object]]


async def erase(store: InMemoryStore) -> None:
    await store.redact(USER, path="door")


async def erase_and_write_anew(store: InMemoryStore) -> None:
    await store.redact(USER, path="door")
    await store.write(USER, "door", "clean")


async def delete_and_erase(store: InMemoryStore) -> None:
    await store.delete(USER, "door")
    await store.redact(USER, path="door")


async def edit(store: InMemoryStore) -> None:
    await store.write(USER, "door", "newer")


erasures = pytest.mark.parametrize("act", [erase, erase_and_write_anew, delete_and_erase])


class Scene:
    """One document with a secret, another beside it, and a pass in which somebody acts."""

    def __init__(self, clock: ControlledClock, *operations: dict[str, Any]) -> None:
        self.store = InMemoryStore(clock=clock)
        self.clock = clock
        self.calls: list[str] = []
        self.calls_before_model = 0
        self.model = ActingModel(json.dumps({"ops": operations}), meanwhile=self._count)

    async def run(self, act: Act, *, after: int) -> PassReport:
        await self.store.write(USER, "door", SECRET)
        await self.store.write(USER, "other", "text")
        self.clock.set(NOW)
        watched: Any = Moments(self.store, after=after, act=lambda: act(self.store))
        self.calls = watched.calls
        return await maintain(
            watched, garden(), clock=self.clock, semantic=SemanticStage(self.model)
        )

    async def _count(self) -> None:
        self.calls_before_model = len(self.calls)


async def holds_secret(store: InMemoryStore) -> bool:
    rows = [*await store.history(USER), *await store.history(PROJECT)]
    return any(SECRET in row.content for row in rows)


class TestErasures(GardenCases):
    @erasures
    async def test_what_was_erased_before_the_last_look_is_not_sent(
        self, clock: ControlledClock, act: Act
    ) -> None:
        quiet = Scene(clock)
        await quiet.run(act, after=NEVER)
        assert SECRET in quiet.model.sent[0]
        assert quiet.calls[quiet.calls_before_model - 1] == "list_documents_page"
        for moment in range(1, quiet.calls_before_model):
            scene = Scene(clock)
            with capture_logs() as logs:
                report = await scene.run(act, after=moment)
            assert len(scene.model.sent) == 1
            assert SECRET not in scene.model.sent[0], (moment, scene.calls[:moment])
            assert SECRET not in repr(logs) + repr(report)

    @pytest.mark.parametrize("act", [erase, delete_and_erase, lambda store: store.redact(USER)])
    async def test_nothing_of_the_models_is_written_once_what_it_read_is_erased(
        self, clock: ControlledClock, act: Act
    ) -> None:
        scene = Scene(
            clock,
            create("/user/copy", SECRET),
            replace("/project/p", "x", SECRET),
            create("/project/new", SECRET),
        )
        scene.model.meanwhile = lambda: act(scene.store)
        await scene.store.write(PROJECT, "p", "x")
        report = await scene.run(act, after=NEVER)
        assert report.writes == ()
        assert {skip.reason for skip in report.skipped} == {ERASED}
        assert not await holds_secret(scene.store)

    async def test_an_erasure_of_what_was_not_shown_stops_nothing(
        self, clock: ControlledClock
    ) -> None:
        scene = Scene(clock, create("/user/new", "y"))
        await scene.store.write(USER, "gone", "x")
        await scene.store.delete(USER, "gone")
        scene.model.meanwhile = lambda: scene.store.redact(USER, path="gone")
        report = await scene.run(erase, after=NEVER)
        assert [write.path for write in report.writes] == ["/user/new"]

    @pytest.mark.parametrize("act", [erase, delete_and_erase])
    async def test_a_move_carries_no_erased_text_into_another_mount(
        self, clock: ControlledClock, act: Act
    ) -> None:
        move = rename("/user/door", "/project/door")
        quiet = Scene(clock, move)
        report = await quiet.run(act, after=NEVER)
        assert [write.path for write in report.writes] == ["/project/door"]
        for moment in range(1, len(quiet.calls)):
            scene = Scene(clock, move)
            with capture_logs() as logs:
                await scene.run(act, after=moment)
            assert not await holds_secret(scene.store), (moment, scene.calls)
            assert SECRET not in repr(logs)

    @pytest.mark.parametrize("act", [erase, delete_and_erase])
    @pytest.mark.parametrize(
        "change",
        [
            replace("/user/door", "teal", "teal!"),
            create("/user/door", f"{SECRET}!"),
            create("/user/copy", f"{SECRET}!"),
        ],
    )
    async def test_a_change_brings_no_erased_text_back(
        self, clock: ControlledClock, act: Act, change: dict[str, Any]
    ) -> None:
        quiet = Scene(clock, change)
        report = await quiet.run(act, after=NEVER)
        assert [write.path for write in report.writes] == [change["path"]]
        act_of = "create_if_absent" if change["path"] == "/user/copy" else "write"
        written = quiet.calls.index(act_of) + 1
        for moment in range(quiet.calls_before_model, written):
            clock.set(OLD)
            scene = Scene(clock, change)
            report = await scene.run(act, after=moment)
            assert not await holds_secret(scene.store), (moment, scene.calls)
            assert "/user/door" not in {write.path for write in report.writes}

    async def test_an_edit_elsewhere_that_an_erasure_overtook_is_told(
        self, clock: ControlledClock
    ) -> None:
        change = replace("/user/other", "text", f"text, {SECRET}")
        quiet = Scene(clock, change)
        report = await quiet.run(erase, after=NEVER)
        assert ([write.version for write in report.writes], report.skipped) == ([2], ())
        # Between the last look at the trail and the write, and right behind the write.
        written = quiet.calls.index("write") + 1
        for moment in (written - 1, written):
            clock.set(OLD)
            scene = Scene(clock, change)
            report = await scene.run(erase, after=moment)
            assert [write.path for write in report.writes] == ["/user/other"]
            told = [(skip.path, skip.reason, skip.label) for skip in report.skipped]
            assert told == [("/user/other", OVERTAKEN, "overtaken")]

    async def test_what_is_erased_before_the_last_look_keeps_its_name(
        self, clock: ControlledClock
    ) -> None:
        move = rename("/user/door", "/user/gate")
        quiet = Scene(clock, move)
        await quiet.run(erase, after=NEVER)
        for moment in range(quiet.calls_before_model, quiet.calls.index("rename_if")):
            scene = Scene(clock, move)
            report = await scene.run(erase, after=moment)
            assert [write.path for write in report.writes] == [], moment

    async def test_an_edit_of_what_was_once_erased_stays(self, clock: ControlledClock) -> None:
        scene = Scene(clock, replace("/user/door", "one", "two"))
        await scene.store.write(USER, "door", "x")
        await scene.store.redact(USER, path="door")
        scene.model.meanwhile = idle
        for text in ("one", "one!"):
            await scene.store.write(USER, "door", text)
        clock.set(NOW)
        report = await maintain(
            scene.store, garden(), clock=clock, semantic=SemanticStage(scene.model)
        )
        assert [write.version for write in report.writes] == [4]
        document = await scene.store.read(USER, "door")
        assert (document and document.content) == "two!"

    async def test_a_move_of_what_is_edited_meanwhile_leaves_one_document_with_the_newer_text(
        self, clock: ControlledClock
    ) -> None:
        move = rename("/user/door", "/project/door")
        quiet = Scene(clock, move)
        await quiet.run(edit, after=NEVER)
        gone = quiet.calls.index("delete_if") + 1
        for moment in range(1, gone):
            scene = Scene(clock, move)
            report = await scene.run(edit, after=moment)
            document = await scene.store.read(USER, "door")
            moved = await scene.store.read(PROJECT, "door")
            if report.writes:
                assert (document, moved and moved.content) == (None, "newer")
            else:
                assert (document and document.content, moved) == ("newer", None), moment


class TestPlans(GardenCases):
    """Between the plan of the deterministic stage and its act."""

    @pytest.mark.parametrize("kind", [InMemoryStore, PlainStore])
    @pytest.mark.parametrize("name", ["copy", "keeper"])
    @pytest.mark.parametrize("theirs", ["edit", "delete", "redact"])
    async def test_what_moved_since_the_plan_stays_and_so_does_its_copy(
        self, clock: ControlledClock, kind: type[Any], name: str, theirs: str
    ) -> None:
        store = kind(clock=clock)
        for path in ("keeper", "copy"):
            await store.write(USER, path, "same")

        async def act() -> None:
            if theirs == "edit":
                await store.write(USER, name, "newer")
            elif theirs == "delete":
                await store.delete(USER, name)
            else:
                await store.redact(USER, path=name)

        clock.set(NOW)
        # The scan ends with the last read of a plain store, or with the page of digests.
        scan = 1 if kind is InMemoryStore else 3
        watched: Any = Moments(store, after=scan, act=act)
        report = await maintain(watched, garden(f"scope={USER},path=user"), clock=clock)
        assert report.writes == ()
        of_copy = "the document is redacted" if theirs == "redact" else "changed underneath"
        expected = of_copy if name == "copy" else "the kept copy changed underneath"
        assert [(skip.path, skip.reason) for skip in report.skipped] == [("/user/copy", expected)]
        left = [entry.path for entry in await store.list_documents(USER)]
        assert set(left) == {"keeper", "copy"} - ({name} if theirs == "delete" else set())

    async def test_a_claim_lost_while_the_model_thought_ends_the_pass(
        self, store: InMemoryStore, clock: ControlledClock
    ) -> None:
        await store.write(USER, "a", "one")
        claim = await store.claims.acquire([USER], holder="a", lease_seconds=1)
        assert claim is not None
        lost = claim
        model = ActingModel(
            json.dumps({"ops": [create("/user/b", "x")]}),
            meanwhile=lambda: store.claims.release(lost),
        )
        clock.set(NOW)
        with pytest.raises(ClaimLostError):
            await maintain(
                store,
                garden(),
                clock=clock,
                semantic=SemanticStage(model),
                acts=store.guarded(fence=claim),
            )
        assert await store.read(USER, "b") is None
