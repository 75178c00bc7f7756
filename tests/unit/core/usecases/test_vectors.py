"""The acceptance vectors of the memory tool, in memory."""

from tests.support.memory_vectors import MemoryToolVectors


class TestVectors(MemoryToolVectors):
    pass
