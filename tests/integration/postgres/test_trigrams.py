"""A search finds the same whatever parts of its terms the index is asked for."""

import random
from collections.abc import Sequence

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.adapters.postgres import Pool, PostgresStore, trigrams
from commonhold.adapters.postgres.statements import statements_in
from commonhold.contract import ConversationTurn
from commonhold.contract.messages import Message
from tests.support.wire_service import HandClock

# Letters of one and of several bytes, marks that the index leaves out, and LIKE's own.
PIECES = ("ba", "na", "stro", "Ä", "ß", "日本", "9", "4711", "-", "_", "%", "\\", ".", "'", " ")
TEXTS = 400
QUERIES = 400


def text(source: random.Random) -> str:
    return "".join(source.choices(PIECES, k=source.randint(1, 25))) or "x"


def query(source: random.Random, texts: Sequence[str]) -> str:
    """Pieces of texts that are there, often with something that is not."""
    terms = []
    for _ in range(source.randint(1, 3)):
        whole = source.choice(texts)
        start = source.randrange(len(whole))
        terms.append(whole[start : start + source.randint(1, 12)])
    if source.random() < 0.3:
        terms.append(source.choice(PIECES) + source.choice(PIECES))
    return " ".join(terms)


def places(found: Sequence[ConversationTurn]) -> list[tuple[str, int]]:
    return [(hit.conversation_id, hit.turn) for hit in found]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("indexed", [True, False])
async def test_any_query_finds_what_the_model_finds(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, seed: int, *, indexed: bool
) -> None:
    if not indexed:
        async with pool.connection() as conn:
            await conn.execute("DROP INDEX commonhold.turns_search")
    # No term is too common for its parts to be asked for.
    monkeypatch.setattr(trigrams, "_RARE_TEXTS", trigrams.SAMPLE_TEXTS)
    clock = HandClock()
    store, model = PostgresStore(pool, clock=clock), InMemoryStore(clock=clock)
    source = random.Random(seed)
    texts = [text(source) for _ in range(TEXTS)]
    for number, said in enumerate(texts):
        # The sample is taken at the first search: what comes later is not in it.
        if number == TEXTS // 2:
            await store.search_turns("x")
        clock.advance()
        for one in (store, model):
            await one.append_turn(f"c{number % 3}", (Message(role="user", content=said),))
    for one in (store, model):
        await one.redact_turns("c1", turns=range(1, 40))
    found = 0
    for _ in range(QUERIES):
        asked = query(source, texts)
        if not asked.strip():
            continue
        limit = source.choice((1, 10, 500))
        chosen = source.choice((None, ("c0", "c2")))
        hits = await store.search_turns(asked, conversations=chosen, limit=limit)
        expected = await model.search_turns(asked, conversations=chosen, limit=limit)
        assert places(hits) == places(expected), asked
        found += len(hits)
    assert found > QUERIES


async def test_a_sample_is_taken_once_and_holds_nothing_of_one_text_alone(
    store: PostgresStore, pool: Pool
) -> None:
    for number in range(100):
        said = f"common words and {number * 7919:x}{number:04}"
        await store.append_turn("c", (Message(role="user", content=said),))
    asked = trigrams.Trigrams(statements_in("commonhold").turns.sample_search_texts)
    async with pool.connection() as conn:
        first = await asked.sample(conn)
        assert await asked.sample(conn) is first
    assert first.size == 100
    assert first.texts["com"].bit_count() == 100
    assert min(bits.bit_count() for bits in first.texts.values()) > 1
    assert first.parts(["common"]) is None
    assert first.parts(["commonxyz"]) is not None
