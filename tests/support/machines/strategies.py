"""Which steps are worth taking: few names and few texts, so that steps meet each other."""

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
    Message,
    ScopeArchive,
    TextBlock,
    ToolCall,
)
from tests.support.machines.steps import PATHS, SCOPES, THREADS, Call, Keyed, NextPage, Step

HUGE = (2**31, 2**63, 2**100)
SECONDS = st.integers(0, 12)

# The first of each is drawn most, so that steps meet.
scopes = st.sampled_from([SCOPES[0]] * 5 + [*SCOPES])
odd_scopes = st.sampled_from([*SCOPES, "User:x", ""])
paths = st.sampled_from([PATHS[0]] * 3 + [*PATHS])
odd_paths = st.sampled_from([*PATHS, "a//b", "."])
threads = st.sampled_from([THREADS[0]] * 3 + [*THREADS])
contents = st.sampled_from(["", "one", "two\r\n", "\N{GRINNING FACE}", "a\x00b"])
actors = st.sampled_from([None, "me", ""])
moments = st.builds(lambda seconds: START + timedelta(seconds=seconds), SECONDS)
limits = st.sampled_from([None, 0, 1, 2, 3, -1, HUGE[1]])
page_limits = st.sampled_from([1, 2, 3, 0, HUGE[2]])
expected_versions = st.sampled_from([None, None, None, 0, 1, 2, 3, 4, 5, -1, *HUGE])
texts = st.sampled_from(["", "needle", "Needle hay", "hay", "e"])
arguments = st.dictionaries(
    st.sampled_from(["q", "b", "a"]),
    st.sampled_from([1, 1.5, -0.0, 1e22, 2**70, None, True, "Needle", ["x", {}]]),
    max_size=3,
)
calls = st.builds(
    ToolCall, id=st.just("1"), name=st.sampled_from(["f", "needle"]), arguments=arguments
)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool"]),
    content=st.one_of(
        st.none(), texts, st.lists(st.builds(TextBlock, text=texts), max_size=2).map(tuple)
    ),
    tool_calls=st.lists(calls, max_size=1).map(tuple),
)
kinds = st.sampled_from(["log", "digest", "epoch"])
entries = st.integers(1, 6).flatmap(
    lambda turn: st.builds(
        ConversationProjection,
        turn=st.just(turn),
        kind=kinds,
        text=texts,
        span=st.integers(1, turn),
    )
)
ids = st.one_of(st.none(), st.lists(st.sampled_from([*THREADS, "nobody"]), max_size=3))
afters = st.sampled_from([0, 0, 1, 2, -1, HUGE[1]])
turn_numbers = st.one_of(st.none(), st.lists(st.sampled_from([1, 2, 3, 9, *HUGE, 0]), max_size=3))


def _call(method: str, *positional: st.SearchStrategy[Any], **options: Any) -> Any:
    return st.builds(Call, st.just(method), st.tuples(*positional), st.fixed_dictionaries(options))


documents = st.builds(
    lambda path, version, moment, redacted: MemoryDocument(
        scope="u:ignored",
        path=path,
        content="" if redacted else "restored",
        version=version,
        created_at=moment,
        updated_at=moment,
        redacted=redacted,
        extra={"z": 1, "a": version},
    ),
    odd_paths,
    st.integers(0, 4),
    moments,
    st.booleans(),
)
versions = st.builds(
    lambda path, version, moment, redacted: MemoryVersion(
        path=path,
        version=version,
        action="modified",
        content="" if redacted else "restored",
        created_at=moment,
        redacted=redacted,
    ),
    paths,
    st.integers(1, 4),
    moments,
    st.booleans(),
)
redactions = st.builds(
    lambda path, moment, count: MemoryRedaction(
        path=path, actor=None, created_at=moment, count=count
    ),
    st.sampled_from([None, *PATHS]),
    moments,
    st.integers(0, 3),
)
turns = st.builds(
    lambda turn, moment, spoken: ConversationTurn(
        conversation_id="ignored",
        turn=turn,
        messages=tuple(spoken),
        created_at=moment,
        redacted=not spoken,
    ),
    st.integers(0, 6),
    moments,
    st.lists(messages, max_size=2),
)
trails = st.builds(
    lambda numbers, moment: ConversationRedaction(
        conversation_id="ignored", turns=tuple(numbers), actor=None, created_at=moment
    ),
    st.lists(st.integers(1, 6), max_size=3),
    moments,
)


def _rows(rows: Any) -> Any:
    return st.lists(rows, max_size=3).map(tuple)


scope_archives = st.builds(
    ScopeArchive,
    scope=odd_scopes,
    documents=_rows(documents),
    versions=_rows(versions),
    redactions=_rows(redactions),
)
conversation_archives = st.builds(
    ConversationArchive,
    conversation_id=threads,
    turns=_rows(turns),
    projections=_rows(entries),
    redactions=_rows(trails),
)

writes = _call("write", scopes, paths, contents, actor=actors, expected_version=expected_versions)
deletes = _call("delete", scopes, paths, actor=actors)
renames = _call("rename", scopes, paths, paths, actor=actors)
erasures = _call("redact", scopes, path=st.one_of(st.none(), paths), actor=actors)
appends = _call("append_turn", threads, st.lists(messages, max_size=2), actor=actors)
projects = _call("append_projections", threads, st.lists(entries, max_size=3))
turn_erasures = _call(
    "redact_turns",
    threads,
    through=st.sampled_from([None, None, 0, 1, 2, HUGE[2]]),
    turns=turn_numbers,
    actor=actors,
)
restores = _call("restore_scope", scope_archives)
turn_restores = _call("restore_conversation", conversation_archives)

document_mutations = st.one_of(
    writes, writes, writes, writes, deletes, deletes, renames, erasures, erasures, restores
)
turn_mutations = st.one_of(
    appends, appends, appends, projects, projects, turn_erasures, turn_erasures, turn_restores
)
document_reads = st.one_of(
    _call("read", odd_scopes, odd_paths),
    _call("list_documents", scopes, prefix=st.sampled_from(["", "a", "a/", "%", "a\x00"])),
    _call("versions", scopes, odd_paths, limit=st.sampled_from([0, 1, 2, 50, -1, HUGE[0]])),
    _call("history", scopes, since=st.one_of(st.none(), moments), limit=limits),
    _call("redactions", scopes, since=st.one_of(st.none(), moments), limit=limits),
)
turn_reads = st.one_of(
    _call("read_turns", threads, after=afters, limit=limits),
    _call("read_projections", threads, after=afters, limit=limits),
    _call(
        "search_turns",
        st.sampled_from(["needle", "E", "hay needle", "{}", '"q":1', " ", "1e+22", "\x00"]),
        conversations=ids,
        limit=st.sampled_from([1, 2, 50, 0, HUGE[2]]),
    ),
    _call(
        "turn_redactions",
        conversations=ids,
        since=st.one_of(st.none(), moments),
        limit=st.sampled_from([1, 2, 50, 0]),
    ),
)
pages = st.one_of(
    _call("list_documents_page", scopes, prefix=st.sampled_from(["", "a"]), limit=page_limits),
    _call("versions_page", scopes, paths, limit=page_limits),
    _call("history_page", scopes, since=st.one_of(st.none(), moments), limit=page_limits),
    _call("redactions_page", scopes, limit=page_limits),
)


# Under a key only what is well formed: whether the key or the arguments are looked at first
# is for each store to say.
keyed_document_mutations = st.one_of(
    _call("write", scopes, paths, texts, actor=actors, expected_version=expected_versions),
    deletes,
    renames,
    erasures,
)
keyed_turn_mutations = st.one_of(
    _call("append_turn", threads, st.lists(messages, min_size=1, max_size=2), actor=actors),
    projects,
    _call("redact_turns", threads, through=st.sampled_from([None, 1, 2, HUGE[2]]), actor=actors),
)


def _keyed(mutations: Any) -> Any:
    values, digests = st.sampled_from(["k1", "k2"]), st.sampled_from([b"d1", b"d1", b"d2"])
    return st.builds(Keyed, values, digests, mutations)


def _runs(*acts: Any) -> Any:
    """Runs of up to forty steps: short ones meet too little, and shrinking makes them short."""
    step = st.builds(Step, SECONDS, st.one_of(*acts))
    return st.integers(1, 40).flatmap(lambda size: st.lists(step, min_size=size, max_size=size))


document_runs = _runs(
    document_mutations,
    document_mutations,
    _keyed(keyed_document_mutations),
    document_reads,
    pages,
    st.builds(NextPage, pages),
)
turn_runs = _runs(turn_mutations, turn_mutations, _keyed(keyed_turn_mutations), turn_reads)
