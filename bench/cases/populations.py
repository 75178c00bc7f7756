"""The large populations that several cases share; each is loaded once a run."""

import asyncio
import time

import msgspec

from bench import datasets, names, texts
from bench.context import Bench
from bench.corpus import Corpus

LARGE_SCOPE = 600_000
FIRST_LOADED = 500_000_000


class Turns(msgspec.Struct, frozen=True, kw_only=True):
    """The loaded conversations by their length, and the texts in them."""

    long: list[str]
    short: list[str]
    corpus: Corpus


def ensure_large_scope(bench: Bench) -> str:
    """The name of a scope with `scale.documents` documents."""
    name = names.scope(LARGE_SCOPE)
    if "large scope" not in bench.loaded:
        bench.say(f"loading a scope of {bench.scale.documents:,} documents")
        asyncio.run(
            datasets.load_documents(
                bench.stand.dsn,
                first_scope=names.FIRST_SCOPE + LARGE_SCOPE,
                scopes=1,
                paths=bench.scale.documents,
                content=texts.content(200),
            )
        )
        bench.loaded["large scope"] = name
    return name


def ensure_turns(bench: Bench) -> Turns:
    """`scale.turns` turns in a few long conversations and many short ones, indexed."""
    found = bench.loaded.get("turns")
    if isinstance(found, Turns):
        return found
    scale = bench.scale
    long = [scale.long_turns] * scale.long_conversations
    short = [scale.short_turns] * ((scale.turns - sum(long)) // scale.short_turns)
    corpus = Corpus(sum(long) + sum(short))
    bench.say(f"loading and indexing {corpus.size:,} turns")
    started = time.monotonic()
    asyncio.run(
        datasets.load_turns(bench.stand.dsn, corpus, lengths=long + short, first=FIRST_LOADED)
    )
    bench.say(f"  took {time.monotonic() - started:.0f} s")
    turns = Turns(
        long=[names.conversation(FIRST_LOADED + n) for n in range(len(long))],
        # As many as the long ones, so that as many heads are fought over.
        short=[names.conversation(FIRST_LOADED + len(long) + n) for n in range(len(long))],
        corpus=corpus,
    )
    bench.loaded["turns"] = turns
    return turns
