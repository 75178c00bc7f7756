"""Archives that every store takes, of few names and awkward texts."""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from commonhold.conformance.clocks import START
from commonhold.contract import (
    ConversationArchive,
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
    MemoryDocument,
    MemoryRedaction,
    MemoryVersion,
    ScopeArchive,
)
from tests.support.machines.strategies import messages

SCOPES = ("user:ada", "user:ada/proj:erp", "u:B", "u:_")
PATHS = ("a", "b/c", "B", "notes/d.md", "notes/e.jsonl", "..x")
THREADS = ("c1", "C.2", "_")

# Without surrogates and U+0000, which no wire carries.
letters = st.characters(codec="utf-8", exclude_characters="\x00")
contents = st.one_of(
    st.sampled_from(["", "---\n", "---\na: 1\n---\nb", "a\r\nb\r", " x ", "é\u2028\x85"]),
    st.text(letters, max_size=12),
)
actors = st.one_of(st.none(), st.sampled_from(["", "client:default/me", "'q'\n: #"]))
moments = st.builds(lambda micro: START + timedelta(microseconds=micro), st.integers(0, 5_000_000))
values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        contents,
        st.sampled_from(["yes", "1e3", "2026-01-01", "~", "null", "0x1f"]),
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("zab"), inner),
    max_leaves=4,
)
extras = st.dictionaries(st.sampled_from(["title", "z", "a b"]), values, max_size=2)


def _document(path: str) -> Any:
    return st.builds(
        lambda content, redacted, **fields: MemoryDocument(
            scope="u:x",
            path=path,
            content="" if redacted else content,
            redacted=redacted,
            **fields,
        ),
        content=contents,
        redacted=st.booleans(),
        version=st.integers(1, 9),
        created_at=moments,
        updated_at=moments,
        actor=actors,
        extra=extras,
    )


def _version(path: str, number: int) -> Any:
    return st.builds(
        lambda content, redacted, **fields: MemoryVersion(
            path=path,
            version=number,
            content="" if redacted else content,
            redacted=redacted,
            **fields,
        ),
        content=contents,
        redacted=st.booleans(),
        action=st.sampled_from(["created", "modified", "deleted"]),
        actor=actors,
        created_at=moments,
    )


def _scope(name: str, paths: list[str], rows: set[tuple[str, int]]) -> Any:
    return st.builds(
        lambda documents, versions, redactions: ScopeArchive(
            scope=name, documents=documents, versions=versions, redactions=redactions
        ),
        st.tuples(*(_document(path) for path in sorted(paths))),
        st.tuples(*(_version(*row) for row in sorted(rows))),
        st.lists(
            st.builds(
                MemoryRedaction,
                path=st.one_of(st.none(), st.sampled_from(PATHS)),
                actor=actors,
                created_at=moments,
                count=st.integers(0, 9),
            ),
            max_size=2,
        ).map(lambda acts: tuple(sorted(acts, key=lambda act: act.created_at))),
    )


def _turn(name: str, number: int) -> Any:
    return st.builds(
        lambda spoken, **fields: ConversationTurn(
            conversation_id=name,
            turn=number,
            messages=tuple(spoken),
            redacted=not spoken,
            **fields,
        ),
        st.lists(messages, max_size=2),
        created_at=moments,
        actor=actors,
    )


def _conversation(name: str, numbers: set[int]) -> Any:
    entries = st.integers(1, 6).flatmap(
        lambda turn: st.builds(
            ConversationProjection,
            turn=st.just(turn),
            kind=st.sampled_from(["log", "digest", "epoch"]),
            text=contents,
            span=st.integers(1, turn),
        )
    )
    acts = st.builds(
        ConversationRedaction,
        conversation_id=st.just(name),
        turns=st.sets(st.integers(1, 9), min_size=1, max_size=3).map(
            lambda chosen: tuple(sorted(chosen))
        ),
        actor=actors,
        created_at=moments,
    )
    return st.builds(
        lambda turns, projections, redactions: ConversationArchive(
            conversation_id=name, turns=turns, projections=projections, redactions=redactions
        ),
        st.tuples(*(_turn(name, number) for number in sorted(numbers))),
        st.lists(entries, min_size=not numbers, max_size=3).map(
            lambda some: tuple(sorted(some, key=lambda one: (one.turn, one.span)))
        ),
        st.lists(acts, max_size=2).map(
            lambda some: tuple(sorted(some, key=lambda act: act.created_at))
        ),
    )


scope_archives = st.builds(
    _scope,
    st.sampled_from(SCOPES),
    st.lists(st.sampled_from(PATHS), unique=True, max_size=3),
    st.sets(st.tuples(st.sampled_from(PATHS), st.integers(1, 12)), max_size=5),
).flatmap(lambda archive: archive)
conversation_archives = st.builds(
    _conversation, st.sampled_from(THREADS), st.sets(st.integers(1, 12), max_size=3)
).flatmap(lambda archive: archive)
