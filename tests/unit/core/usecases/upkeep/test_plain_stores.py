"""Maintenance over a store without any optional protocol: the same, with a weaker fence."""

import pytest

from commonhold.conformance import ControlledClock
from commonhold.contract import ConfigurationError
from commonhold.usecases.upkeep.durations import parse_duration
from commonhold.usecases.upkeep.erasures import redact_conversation
from commonhold.usecases.upkeep.expirations import expire_documents
from commonhold.usecases.upkeep.prunes import prune
from tests.support.plain_store import PlainStore
from tests.support.upkeep.deterministic import DeterministicCases
from tests.support.upkeep.executions import ExecutionCases
from tests.support.upkeep.gardens import GardenCases, run_pass
from tests.support.upkeep.semantic import SemanticCases


class OverPlainStore:
    @pytest.fixture
    def store(self, clock: ControlledClock) -> PlainStore:
        return PlainStore(clock=clock)


class TestDeterministicStage(OverPlainStore, DeterministicCases):
    pass


class TestSemanticStage(OverPlainStore, SemanticCases):
    pass


class TestExecutions(OverPlainStore, ExecutionCases):
    pass


class TestWhatIsLacking(OverPlainStore, GardenCases):
    async def test_the_report_says_that_the_fence_is_weaker(
        self, store: PlainStore, clock: ControlledClock
    ) -> None:
        assert (await run_pass(store, clock)).fence == "reread"

    async def test_erasures_are_refused_before_anything_is_written(
        self, store: PlainStore, clock: ControlledClock
    ) -> None:
        with pytest.raises(ConfigurationError, match="PlainStore cannot erase turns"):
            await redact_conversation(store, "chat-1")
        with pytest.raises(ConfigurationError, match="PlainStore cannot erase turns"):
            await prune(store, older_than=parse_duration("1d"), clock=clock)
        with pytest.raises(ConfigurationError, match="PlainStore cannot erase documents by age"):
            await expire_documents(
                store, older_than=parse_duration("1d"), scopes=["user:"], clock=clock
            )
