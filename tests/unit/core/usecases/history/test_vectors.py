"""The acceptance tables of the history tools, in memory."""

from tests.support.history_vectors import HistoryVectors


class TestVectors(HistoryVectors):
    pass
