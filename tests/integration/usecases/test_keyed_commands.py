"""Tool calls under idempotency keys, on Postgres."""

from tests.support.keyed_vectors import KeyedVectors


class TestKeyedCommands(KeyedVectors):
    pass
