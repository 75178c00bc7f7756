"""The cases of maintenance, on Postgres."""

from tests.support.upkeep.deterministic import DeterministicCases
from tests.support.upkeep.retention import RetentionCases


class TestDeterministicStage(DeterministicCases):
    pass


class TestRetention(RetentionCases):
    pass
