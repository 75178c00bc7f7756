"""What a turn leaves for the log: names of documents, never text of a model or of a document."""

import json
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock
from commonhold.contract import ConversationFormatError, Message, StoreUnavailableError
from commonhold.contract.model_errors import CircuitOpen
from commonhold.usecases.upkeep.holds import NO_HOLDS
from commonhold.usecases.upkeep.semantic import SemanticStage
from commonhold_maintenance.fenced_stores import FencedActs
from commonhold_maintenance.gardens import ErasureRule, Retention, ScheduledGarden
from commonhold_maintenance.passes import End, Turn
from commonhold_maintenance.schedules import Schedule
from commonhold_maintenance.tasks import GardenTask, Outcome, RetentionTask
from tests.support.upkeep.gardens import NOW, PROJECT, USER, GardenCases, garden
from tests.support.upkeep.models import ActingModel, create, delete, rename, replace
from tests.support.upkeep.stages import SECRET

# Without a space it is a path like any other.
NAME = "teal-is-the-door"
OPERATIONS = [
    delete(SECRET),
    delete(f"/user/{NAME}"),
    delete(f"/user/messages/{NAME}"),
    delete(f"/{NAME}/a"),
    replace(f"/user/{NAME}", "x", SECRET),
    replace("/user/note", SECRET + "!", "x"),
    create(f"/user/{SECRET}", "x"),
    create(f"/kb/{NAME}", "x"),
    rename("/user/note", f"/user/{SECRET}"),
    rename("/user/note", f"/user/handoff/{SECRET}"),
    rename("/user/note", f"/board/{NAME}"),
    rename(f"/user/{NAME}", "/user/b"),
]


class TestGardenTask(GardenCases):
    @pytest.fixture
    def store(self, clock: ControlledClock) -> InMemoryStore:
        return InMemoryStore(clock=clock)

    async def run(self, store: InMemoryStore, clock: ControlledClock, model: Any) -> Outcome:
        clock.set(NOW)
        scheduled = ScheduledGarden(
            name="night", garden=garden(), schedule=Schedule(), asks_model=True
        )
        task = GardenTask(scheduled, store=store, semantic=SemanticStage(model), clock=clock)
        claim = await store.claims.acquire(task.claims, holder="a", lease_seconds=60)
        return await task.run(FencedActs(store.guarded(fence=claim)))

    @pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{list(one.values())[:2]}")
    async def test_a_path_that_only_the_model_knows_is_not_told(
        self, store: InMemoryStore, clock: ControlledClock, operation: dict[str, Any]
    ) -> None:
        await store.write(USER, "note", f"{SECRET}, {NAME}")
        with capture_logs() as logs:
            model = ActingModel(json.dumps({"ops": [operation]}))
            outcome = await self.run(store, clock, model)
        about = operation.get("old_path", operation.get("path"))
        (skip,) = outcome.report["skipped"]
        assert skip["path"] == ("/user/note" if about == "/user/note" else None)
        told = json.dumps(outcome.report) + repr(logs)
        assert SECRET not in told
        assert NAME not in told

    async def test_a_garden_whose_model_was_not_to_be_asked_has_not_ended(
        self, store: InMemoryStore, clock: ControlledClock
    ) -> None:
        await store.write(USER, "note", "text")
        refused = await self.run(store, clock, ActingModel(CircuitOpen("open", retry_after=9.0)))
        failed = await self.run(store, clock, ActingModel(RuntimeError("asked")))
        turns = [Turn(end=End.DONE, outcome=outcome) for outcome in (refused, failed)]
        assert [(turn.has_ended, turn.is_whole) for turn in turns] == [
            (False, False),
            (True, False),
        ]
        assert (refused.put_off_seconds, refused.report["put_off_seconds"]) == (9.0, 9.0)
        assert refused.skips == {"circuit_open": 3}
        assert refused.report["skipped"][0] == {
            "command": "ask",
            "path": "/user",
            "reason": "circuit_open",
        }

    async def test_after_an_erasure_no_name_of_the_models_is_told_or_kept(
        self, store: InMemoryStore, clock: ControlledClock
    ) -> None:
        await store.write(USER, "note", NAME)
        await store.write(USER, "other", "text")
        await store.write(PROJECT, "fact", "text")
        moves = [
            rename("/user/other", f"/user/{NAME}"),
            rename("/project/fact", f"/user/{NAME}"),
            create(f"/user/{NAME}", "x"),
        ]
        model = ActingModel(
            json.dumps({"ops": moves}), meanwhile=lambda: store.redact(USER, path="note")
        )
        outcome = await self.run(store, clock, model)
        assert outcome.skips == {"erased": 3}
        assert [skip["path"] for skip in outcome.report["skipped"]] == [
            "/user/other",
            "/project/fact",
            None,
        ]
        rows = [*await store.history(USER), *await store.history(PROJECT)]
        assert NAME not in json.dumps(outcome.report) + repr(rows)


class Refusing(InMemoryStore):
    """A store that cannot read one conversation, for a reason that is told to it."""

    error: Exception

    async def last_turn_number(self, conversation_id: str) -> int:
        if conversation_id == "chat-1":
            raise self.error
        return await super().last_turn_number(conversation_id)


class TestRetentionTask(GardenCases):
    @pytest.mark.parametrize(
        ("error", "is_cut_short", "erased"),
        [
            (ConversationFormatError(conversation_id="chat-1", reason="broken"), False, 1),
            (StoreUnavailableError("gone"), True, 0),
        ],
    )
    async def test_what_the_store_refused_makes_a_turn_of_retention_fail(
        self, clock: ControlledClock, error: Exception, *, is_cut_short: bool, erased: int
    ) -> None:
        store = Refusing(clock=clock)
        store.error = error
        for name in ("chat-1", "chat-2"):
            await store.append_turn(name, [Message(role="user", content="x")])
        clock.set(NOW)
        rule = ErasureRule(prefix="chat-", older_than=timedelta(days=1))
        retention = Retention(rules=(rule,), schedule=Schedule())
        task = RetentionTask(retention, holds=NO_HOLDS, store=store, clock=clock)
        claim = await store.claims.acquire(task.claims, holder="a", lease_seconds=60)
        outcome = await task.run(FencedActs(store.guarded(fence=claim)))
        assert not outcome.is_whole
        assert outcome.is_cut_short is is_cut_short
        assert outcome.actions == {"redact": erased}
        (report,) = outcome.report["rules"]
        assert "chat-1" in report["unfinished"][0]
