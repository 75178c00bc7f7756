"""The cases of maintenance over the store in memory."""

from tests.support.upkeep.deterministic import DeterministicCases
from tests.support.upkeep.executions import ExecutionCases
from tests.support.upkeep.expirations import ExpirationCases
from tests.support.upkeep.retention import RetentionCases
from tests.support.upkeep.semantic import SemanticCases


class TestDeterministicStage(DeterministicCases):
    pass


class TestRetention(RetentionCases):
    pass


class TestExpirations(ExpirationCases):
    pass


class TestSemanticStage(SemanticCases):
    pass


class TestExecutions(ExecutionCases):
    pass
