"""A schema of generation 4 is read through both seams as it was, but for what was erased."""

import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from commonhold.adapters.postgres import PostgresStore
from commonhold.adapters.postgres.adoption import AdoptionReport, adopt
from commonhold.conformance.archives import conversation_archive, document, scope_archive
from commonhold.conformance.portability_extras import NESTS, nested
from commonhold.conformance.samples import SCOPE, THREAD, says
from commonhold.contract import (
    ConversationArchive,
    MemoryFormatError,
    ScopeArchive,
)
from commonhold.contract.extras import MOST_EXTRA_LEVELS, MOST_EXTRA_VALUES, RESERVED_KEYS
from commonhold.contract.messages import decode_messages, encode_messages
from tests.support.archive_strategies import conversation_archives, scope_archives
from tests.support.generation_four import (
    create_old_schema,
    fill_conversation,
    fill_scope,
    fill_with_odd_rows,
)

EMPTY = """
TRUNCATE commonhold.documents, commonhold.document_versions, commonhold.document_redactions,
    commonhold.conversations, commonhold.turns, commonhold.projections,
    commonhold.turn_redactions, "neosian".memories, "neosian".memory_versions,
    "neosian".memory_redactions, "neosian".conversations, "neosian".turns,
    "neosian".projections, "neosian".turn_redactions
"""
NO_NAME = "its name is not one:"
NO_PATH = "its path is not one:"
PATH_RULE = "[A-Za-z0-9_.-]{1,128} joined by '/'"
ID_RULE = "must match [A-Za-z0-9_.-]{1,128} \N{EM DASH} one flat segment"
# One database serves all examples, and is emptied before each.
RUNS = settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
async def old(database_dsn: str) -> AsyncIterator[Any]:
    """A connection to a database that holds the old schema beside ours."""
    opened = await asyncpg.connect(database_dsn)
    await create_old_schema(opened)
    yield opened
    await opened.close()


async def adopted(dsn: str) -> AdoptionReport:
    return await adopt(
        dsn, source="neosian", target="commonhold", started=lambda _: None, moved=lambda _: None
    )


async def whole(store: PostgresStore) -> list[Any]:
    scopes = [await store.archive_scope(name) for name in await store.scopes()]
    return [
        *scopes,
        *[await store.archive_conversation(name) for name in await store.conversations()],
    ]


async def test_both_seams_read_what_was_there(
    old: Any, store: PostgresStore, database_dsn: str
) -> None:
    await fill_scope(old, scope_archive())
    await fill_conversation(old, conversation_archive())
    report = await adopted(database_dsn)
    assert (report.scopes, report.conversations, report.found, report.odd) == (1, 1, 0, ())
    assert await whole(store) == [scope_archive(), conversation_archive()]
    document = await store.read(SCOPE, "a")
    assert document == scope_archive().documents[0]
    assert await store.redactions(SCOPE) == scope_archive().redactions[::-1]
    assert await store.turn_redactions() == conversation_archive().redactions[::-1]


async def test_numbers_stamps_and_searches_go_on_from_there(
    old: Any, store: PostgresStore, database_dsn: str
) -> None:
    await fill_scope(old, scope_archive())
    await fill_conversation(old, conversation_archive())
    await adopted(database_dsn)
    (found,) = await store.search_turns("zog")
    assert (found.conversation_id, found.turn) == (THREAD, 1)
    revived = await store.write(SCOPE, "gone", "again")
    assert (revived.version, (await store.versions(SCOPE, "gone"))[0].action) == (3, "created")
    rewritten = await store.write(SCOPE, "a", "new", expected_version=3)
    assert (rewritten.version, rewritten.extra) == (4, scope_archive().documents[0].extra)
    assert (await store.append_turn(THREAD, [says("on")])).turn == 4


@RUNS
@given(
    scopes=st.lists(scope_archives, max_size=3, unique_by=lambda one: one.scope),
    conversations=st.lists(
        conversation_archives, max_size=2, unique_by=lambda one: one.conversation_id
    ),
)
async def test_whatever_was_stored_is_adopted_once_and_for_all(
    old: Any,
    store: PostgresStore,
    database_dsn: str,
    scopes: list[ScopeArchive],
    conversations: list[ConversationArchive],
) -> None:
    await old.execute(EMPTY)
    for scope in scopes:
        await fill_scope(old, scope)
    for conversation in conversations:
        await fill_conversation(old, conversation)
    report = await adopted(database_dsn)
    expected = {scope.scope: blanked(await as_jsonb(old, scope)) for scope in scopes}
    assert {name: await store.archive_scope(name) for name in expected} == expected
    for conversation in conversations:
        name = conversation.conversation_id
        kept = msgspec.structs.replace(
            conversation,
            turns=tuple([await turn_as_jsonb(old, turn) for turn in conversation.turns]),
        )
        assert await store.archive_conversation(name) == kept
    before = await whole(store)
    again = await adopted(database_dsn)
    assert again == msgspec.structs.replace(report, found=report.scopes + report.conversations)
    assert await whole(store) == before


def blanked(archive: ScopeArchive) -> ScopeArchive:
    """What an erasure must have left, said the long way round."""
    through: dict[str, int] = {}
    rows = {(row.path, row.version): row for row in archive.versions}
    for live in archive.documents:
        twin = rows.get((live.path, live.version))
        if live.redacted or (twin is not None and twin.redacted):
            through[live.path] = live.version
    for row in archive.versions:
        if row.redacted and row.action == "deleted":
            through[row.path] = max(through.get(row.path, 0), row.version)

    def of(row: Any) -> Any:
        if row.version <= through.get(row.path, 0):
            return msgspec.structs.replace(row, content="", redacted=True)
        return row

    return msgspec.structs.replace(
        archive,
        documents=tuple(map(of, archive.documents)),
        versions=tuple(map(of, archive.versions)),
    )


async def as_jsonb(conn: Any, archive: ScopeArchive) -> ScopeArchive:
    """With what the old column had made of the numbers already."""
    return msgspec.structs.replace(
        archive,
        documents=tuple(
            [
                msgspec.structs.replace(
                    row, scope=archive.scope, extra=await through(conn, json.dumps(row.extra))
                )
                for row in archive.documents
            ]
        ),
    )


async def turn_as_jsonb(conn: Any, turn: Any) -> Any:
    stored = await through(conn, encode_messages(turn.messages).decode())
    return msgspec.structs.replace(turn, messages=decode_messages(stored))


async def through(conn: Any, text: str) -> Any:
    return json.loads(await conn.fetchval("SELECT $1::text::jsonb::text", text))


async def test_what_an_erasure_missed_is_blank_in_the_copy_and_told_by_name(
    old: Any, store: PostgresStore, database_dsn: str
) -> None:
    await fill_scope(old, scope_archive())
    await fill_conversation(old, conversation_archive())
    # As a write that raced a redaction left it: the document blank, its newest row not.
    await old.execute(
        """
        UPDATE "neosian".memory_versions SET content = 'secret', redacted = false
        WHERE path = 'b';
        INSERT INTO "neosian".memory_versions
        VALUES ('user:ada', 'gone', 3, 'deleted', '', NULL, now(), true);
        UPDATE "neosian".turns SET messages = '[{"role": "user", "content": "secret"}]'
        WHERE turn = 2
        """
    )
    report = await adopted(database_dsn)
    told = [(row.verdict, row.unit, row.name) for row in report.odd]
    assert told == [
        ("blanked", SCOPE, "version 1 of b"),
        ("blanked", SCOPE, "version 1 of gone"),
        ("blanked", SCOPE, "version 2 of gone"),
        ("blanked", THREAD, "turn 2"),
    ]
    rows = {(row.path, row.version): row for row in await store.history(SCOPE)}
    for key in (("b", 1), ("gone", 1), ("gone", 2)):
        assert (rows[key].content, rows[key].redacted) == ("", True)
    assert rows["a", 1].content == "x"
    assert (await store.read_turns(THREAD))[1].messages == ()
    assert await store.search_turns("secret") == ()
    assert (await adopted(database_dsn)).odd == report.odd


async def test_odd_rows_are_left_out_by_name_and_the_rest_goes_on(
    old: Any, store: PostgresStore, database_dsn: str
) -> None:
    await fill_scope(old, scope_archive())
    await fill_conversation(old, conversation_archive())
    await fill_with_odd_rows(old)
    report = await adopted(database_dsn)
    left_out = [(row.unit, row.name, row.reason) for row in report.odd_rows("left out")]
    assert left_out == [
        ("", "", f"{NO_NAME} does not match <type>:<id>[/...] (rows: 1)"),
        ("User", "", f"{NO_NAME} does not match <type>:<id>[/...] (rows: 1)"),
        ("user:odd", "version 1 of a//b", f"{NO_PATH} segments must be {PATH_RULE}"),
        ("user:odd", "erasure 3 of a//b", f"{NO_PATH} segments must be {PATH_RULE}"),
        ("user:odd", "document extra", "its extra is not an object"),
        ("user:odd", "version 0 of kept", "its version is below 1"),
        ("user:odd", "version 7 of kept", "its time is out of range"),
        ("user:odd", "document low", "its version is below 1"),
        ("user:odd", "document never", "its time is out of range"),
        ("user:odd", "erasure 4", "its count is below 0"),
        ("a b", "", f"{NO_NAME} {ID_RULE} (rows: 1)"),
        ("odd", "turn 0", "its number is below 1"),
        ("odd", "turn 2", "it carries no message, and is not redacted"),
        ("odd", "turn 3", "its messages are not an array of objects"),
        ("odd", "turn 4", "'robot' is not a valid Role"),
        ("odd", "turn 5", "its time is out of range"),
        ("odd", "erasure 3", "it names no turn"),
        ("odd", "erasure 4", "it names a turn below 1"),
        ("odd", "erasure 5", "it names a turn below 1"),
        ("odd", "projection 5", "its turn is below 1"),
        ("odd", "projection 6", "its span is not one of 1 to its turn"),
    ]
    assert [(row.unit, row.name) for row in report.odd_rows("kept unread")] == [
        ("user:newer", "document a"),
        ("odd", "turn 6"),
    ]
    assert await store.archive_scope(SCOPE) == scope_archive()
    assert await store.archive_conversation(THREAD) == conversation_archive()


async def test_extra_that_not_every_store_holds_is_left_out_by_name(
    old: Any, store: PostgresStore, database_dsn: str
) -> None:
    cases = {
        **{f"reserved-{name}": {"k": 1, name: 7} for name in RESERVED_KEYS},
        **{f"deep-{kind}": nested(MOST_EXTRA_LEVELS + 1, NESTS[kind]) for kind in NESTS},
        "many": {"k": [0] * MOST_EXTRA_VALUES},
    }
    good = {
        **{f"kept-{kind}": nested(MOST_EXTRA_LEVELS, NESTS[kind]) for kind in NESTS},
        "kept-many": {"k": [0] * (MOST_EXTRA_VALUES - 1)},
    }
    documents = [
        msgspec.structs.replace(document(path, 1), extra=extra)
        for path, extra in (cases | good).items()
    ]
    await fill_scope(old, ScopeArchive(scope=SCOPE, documents=tuple(documents)))
    left_out = {row.name: row.reason for row in (await adopted(database_dsn)).odd_rows("left out")}
    limits = {
        "reserved": "its extra holds a key that is not its own",
        "deep": f"its extra is nested deeper than {MOST_EXTRA_LEVELS} levels",
        "many": f"its extra holds more than {MOST_EXTRA_VALUES} values",
    }
    assert left_out == {f"document {path}": limits[path.partition("-")[0]] for path in cases}
    landed = await store.archive_scope(SCOPE)
    assert {row.path: row.extra for row in landed.documents} == good


async def test_what_is_beside_odd_rows_is_served_and_their_numbers_stay_used(
    old: Any, store: PostgresStore, database_dsn: str
) -> None:
    await fill_with_odd_rows(old)
    await adopted(database_dsn)
    assert await store.scopes() == ("user:newer", "user:odd")
    assert [entry.path for entry in await store.list_documents("user:odd")] == ["kept"]
    assert (await store.write("user:odd", "kept", "on")).version == 8
    with pytest.raises(MemoryFormatError):
        await store.read("user:newer", "a")
    (kept,) = await store.read_turns("odd", limit=1)
    assert (kept.turn, await store.search_turns("kept")) == (1, (kept,))
    assert (await store.append_turn("odd", [says("on")])).turn == 7
    (entry,) = await store.read_projections("odd")
    assert entry.text == "kept"
    (act,) = await store.turn_redactions()
    assert act.turns == (1, 3)
