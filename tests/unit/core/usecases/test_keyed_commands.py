"""Tool calls under idempotency keys, in memory: what repeats, and what stores cannot."""

from tests.support.keyed_vectors import KeyedVectors, once
from tests.support.memory_callers import USER, Caller
from tests.support.plain_store import PlainStore


class TestKeyedCommands(KeyedVectors):
    pass


async def test_a_store_without_keys_says_so_and_changes_nothing() -> None:
    ana = Caller(PlainStore(), USER)
    result = await once(ana, "create", path="/user/p", content="x")
    assert result.error == "This memory keeps no idempotency keys: repeat the call without one"
    assert await ana.fail("view", path="/user/p")


async def test_a_view_needs_no_key() -> None:
    ana = Caller(PlainStore(), USER)
    assert (await once(ana, "view")).success
