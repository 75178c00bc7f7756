"""Search over a million turns, and the same answers with and without its index."""

import asyncio
from collections.abc import Sequence
from statistics import median

from bench import datasets, names, texts, wire
from bench.cases.populations import FIRST_LOADED, ensure_turns
from bench.context import Bench
from bench.corpus import Corpus
from bench.findings import Finding, Report, Target
from bench.loads import Load
from bench.stands import Client
from bench.summaries import Round, summarise

SINGLE_SCOPE = 700_000
FIRST_PLAIN = 700_000_000
_SELECTIVE = Target(at_most=5.0)
_NONE = Target(at_most=0)


def searches(bench: Bench) -> Report:
    """One connection, so that what is compared is the time of one answer."""
    turns = ensure_turns(bench)
    asyncio.run(
        datasets.load_documents(
            bench.stand.dsn,
            first_scope=names.FIRST_SCOPE + SINGLE_SCOPE,
            scopes=1,
            paths=1_000,
            content=texts.content(),
        )
    )
    wrong = _wrong_answers(bench, turns.corpus)
    corpus = turns.corpus
    variants = {
        "read": [wire.read(names.scope(SINGLE_SCOPE), names.path(p)) for p in range(1_000)],
        "identifier": [wire.search(word) for word in corpus.identifiers],
        "rare word": [wire.search(word) for word in corpus.rare_words],
        "two words": [wire.search(f"{corpus.common} {word}") for word in corpus.rare_words],
        "unselective": [wire.search(corpus.common)],
    }
    rounds = [
        summarise(bench.load_service(_load(bench, sent)), side=name, number=number)
        for number in range(bench.scale.flat_rounds)
        for name, sent in variants.items()
    ]
    size = f"{corpus.size:,} turns"
    findings = [
        _compare(rounds, "identifier", what=f"search of {size} for an identifier / a read"),
        _compare(rounds, "rare word", what="for a rare word of common syllables / a read"),
        _compare(rounds, "two words", what="for that and a common word / a read"),
        _compare(rounds, "unselective", what="for a common word alone / a read", free=True),
        Finding(what="searches: wrong answers", value=wrong, target=_NONE),
    ]
    return Report(case="searches", findings=findings, rounds=rounds)


def searches_without_index(bench: Bench) -> Report:
    """What a database without pg_trgm answers: the same, slower."""
    scale = bench.scale
    corpus = Corpus(scale.plain_turns, seed=1)
    lengths = [scale.short_turns] * (scale.plain_turns // scale.short_turns)
    asyncio.run(datasets.load_turns(bench.stand.dsn, corpus, lengths=lengths, first=FIRST_PLAIN))
    queries = [
        *corpus.planted_in,
        corpus.common,
        f"{corpus.common} {corpus.rare_words[0]}",
        f"{corpus.common[:2]} {corpus.identifiers[0]}",
    ]
    within = [names.conversation(FIRST_PLAIN + n) for n in range(len(lengths))]
    indexed = _answers(bench, queries, within)
    definition = asyncio.run(datasets.drop_search_index(bench.stand.dsn))
    try:
        plain = _answers(bench, queries, within)
    finally:
        asyncio.run(datasets.make_search_index(bench.stand.dsn, definition))
    different = sum(one != other for one, other in zip(indexed, plain, strict=True))
    found = sum(len(answer["turns"]) for answer in indexed)
    finding = Finding(
        what="searches without the index: other answers",
        value=different,
        target=_NONE,
        notes=f"{len(queries)} queries, {found} turns found, over {corpus.size:,} turns",
    )
    return Report(case="searches without the index", findings=[finding])


def _wrong_answers(bench: Bench, corpus: Corpus) -> int:
    """How many rare words were not found in exactly the turns that they were planted in."""
    client = Client(bench.service.port)
    wrong = 0
    try:
        for word, rows in corpus.planted_in.items():
            answer = client.call("conversation/search_turns", query=word)["turns"]
            numbers = [_row_of(bench, turn) for turn in answer]
            wrong += numbers != sorted(rows, reverse=True)
    finally:
        client.close()
    return wrong


def _row_of(bench: Bench, turn: dict[str, object]) -> int:
    """The text's number in the corpus, which `populations` laid out in this order."""
    scale = bench.scale
    conversation = int(str(turn["conversation_id"])) - names.FIRST_CONVERSATION - FIRST_LOADED
    long = min(conversation, scale.long_conversations)
    before = long * scale.long_turns + (conversation - long) * scale.short_turns
    return before + int(str(turn["turn"])) - 1


def _answers(
    bench: Bench, queries: Sequence[str], conversations: Sequence[str]
) -> list[dict[str, list[object]]]:
    client = Client(bench.service.port)
    try:
        return [
            client.call("conversation/search_turns", query=query, conversations=conversations)
            for query in queries
        ]
    finally:
        client.close()


def _load(bench: Bench, sent: Sequence[bytes]) -> Load:
    return Load(
        port=bench.service.port,
        requests=sent,
        connections=1,
        seconds=bench.scale.flat_seconds,
        warmup_seconds=0.2,
    )


def _compare(rounds: Sequence[Round], name: str, *, what: str, free: bool = False) -> Finding:
    medians = {(one.side, one.number): one.p50_ms or 0.0 for one in rounds}
    numbers = {one.number for one in rounds}
    return Finding(
        what=what,
        value=median(medians[name, n] / medians["read", n] for n in numbers),
        target=Target() if free else _SELECTIVE,
        notes=(
            f"p50 {median(medians[name, n] for n in numbers):.2f} ms"
            f" and {median(medians['read', n] for n in numbers):.2f} ms"
        ),
    )
