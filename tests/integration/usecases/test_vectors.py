"""The acceptance vectors of the memory tool, on Postgres."""

from tests.support.memory_vectors import MemoryToolVectors


class TestVectors(MemoryToolVectors):
    pass
