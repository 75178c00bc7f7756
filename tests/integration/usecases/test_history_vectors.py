"""The acceptance tables of the history tools, on Postgres."""

from tests.support.history_vectors import HistoryVectors


class TestVectors(HistoryVectors):
    pass
