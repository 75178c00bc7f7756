"""The cases of maintenance over the store in memory."""

from tests.support.upkeep.deterministic import DeterministicCases
from tests.support.upkeep.retention import RetentionCases


class TestDeterministicStage(DeterministicCases):
    pass


class TestRetention(RetentionCases):
    pass
