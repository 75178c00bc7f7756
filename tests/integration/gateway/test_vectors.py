"""The acceptance vectors of the memory tool, through `tools/call`, on Postgres."""

from commonhold.contract import MemoryEditor
from tests.support.memory_callers import Caller
from tests.support.memory_vectors import MemoryToolVectors
from tests.support.served_callers import ServedCaller


class TestVectors(MemoryToolVectors):
    def caller(self, documents: MemoryEditor, *mounts: str) -> Caller:
        return ServedCaller(documents, *mounts)
