"""The names that the layout gives: whatever stands there, each verb says so or goes past it."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from commonhold.adapters.file import FileStore
from commonhold.usecases.transfers.transfers import transfer
from commonhold.usecases.transfers.units import EVERY, Unit
from tests.support.file_trees import read_tree
from tests.support.misplaced import (
    CONVERSATION,
    ENTRY,
    HELLO,
    KINDS,
    LOCK,
    SCOPE,
    Call,
    filled_root,
    planted,
    told_by,
)
from tests.support.roots import temporary_root

CONVERSATIONS = "conversations"
DOCUMENTS, VERSIONS = f"{SCOPE}/documents", f"{SCOPE}/versions"
TRAIL = f"{SCOPE}/redactions.jsonl"
TURNS, PROJECTIONS, ACTS = (
    f"{CONVERSATION}/{name}.jsonl" for name in ("turns", "projections", "redactions")
)
FOLDERS = (SCOPE, DOCUMENTS, VERSIONS, CONVERSATIONS, CONVERSATION)
FILES = (LOCK, TRAIL, TURNS, PROJECTIONS, ACTS)
LINKS = ("link away", "link in a loop")
PLACES = [
    *((place, kind) for place in FOLDERS for kind in ("file", "pipe", *LINKS)),
    *((place, kind) for place in FILES for kind in ("folder", "pipe", *LINKS)),
]
TO_TURNS = (CONVERSATIONS, CONVERSATION, TURNS)

# What each reading verb goes by, beside the lock.
READS: Mapping[str, tuple[Call, tuple[str, ...]]] = {
    "read": (lambda store: store.read("u:x", "n/a"), (SCOPE, DOCUMENTS)),
    "list_documents": (lambda store: store.list_documents("u:x"), (SCOPE, DOCUMENTS)),
    "list_documents_page": (
        lambda store: store.list_documents_page("u:x", limit=9),
        (SCOPE, DOCUMENTS),
    ),
    "versions": (lambda store: store.versions("u:x", "n/a"), (SCOPE, VERSIONS)),
    "history": (lambda store: store.history("u:x"), (SCOPE, VERSIONS)),
    "redactions": (lambda store: store.redactions("u:x"), (SCOPE, TRAIL)),
    "archive_scope": (
        lambda store: store.archive_scope("u:x"),
        (SCOPE, DOCUMENTS, VERSIONS, TRAIL),
    ),
    "conversations": (lambda store: store.conversations(), (CONVERSATIONS,)),
    "read_turns": (lambda store: store.read_turns("c"), TO_TURNS),
    "read_turns behind one": (lambda store: store.read_turns("c", after=1), TO_TURNS),
    "last_turn_number": (lambda store: store.last_turn_number("c"), TO_TURNS),
    "search_turns": (lambda store: store.search_turns("hello", conversations=["c"]), TO_TURNS),
    "search_turns everywhere": (lambda store: store.search_turns("hello"), (CONVERSATIONS, TURNS)),
    "read_projections": (
        lambda store: store.read_projections("c"),
        (CONVERSATIONS, CONVERSATION, PROJECTIONS),
    ),
    "turn_redactions": (
        lambda store: store.turn_redactions(conversations=["c"]),
        (CONVERSATIONS, CONVERSATION, ACTS),
    ),
    "archive_conversation": (
        lambda store: store.archive_conversation("c"),
        (*TO_TURNS, PROJECTIONS, ACTS),
    ),
}
CHANGES: Mapping[str, tuple[Call, tuple[str, ...]]] = {
    "write": (lambda store: store.write("u:x", "n/a", "x"), (SCOPE, DOCUMENTS, VERSIONS)),
    "delete": (lambda store: store.delete("u:x", "n/a"), (SCOPE, DOCUMENTS, VERSIONS)),
    "rename": (lambda store: store.rename("u:x", "n/a", "b"), (SCOPE, DOCUMENTS, VERSIONS)),
    "append_turn": (lambda store: store.append_turn("c", HELLO), TO_TURNS),
    "append_projections": (
        lambda store: store.append_projections("c", [ENTRY]),
        (CONVERSATIONS, CONVERSATION, PROJECTIONS),
    ),
    "redact": (
        lambda store: store.redact("u:x", path="n/a"),
        (SCOPE, DOCUMENTS, VERSIONS, TRAIL),
    ),
    "redact what is not there": (
        lambda store: store.redact("u:x", path="none"),
        (SCOPE, DOCUMENTS, VERSIONS),
    ),
    "redact the scope": (
        lambda store: store.redact("u:x"),
        (SCOPE, DOCUMENTS, VERSIONS, TRAIL),
    ),
    "redact_turns": (lambda store: store.redact_turns("c"), (*TO_TURNS, PROJECTIONS, ACTS)),
}


@pytest.fixture(scope="module")
def filled() -> Iterator[Path]:
    with filled_root() as root:
        yield root


@pytest.mark.parametrize(("place", "kind"), PLACES)
async def test_a_read_that_goes_by_a_name_refuses_what_is_astray_there_and_no_other_does(
    filled: Path, place: str, kind: str
) -> None:
    async with FileStore(filled) as store:
        intact = {verb: await call(store) for verb, (call, _) in READS.items()}
        scopes = await store.scopes()
    with planted(filled, place, kind) as root:
        async with asyncio.timeout(30), FileStore(root) as store:
            for verb, (call, names) in READS.items():
                if place in (LOCK, *names):
                    assert place in (await told_by(store, call) or ""), verb
                elif (place, verb) not in UNIT_GONE:
                    assert await call(store) == intact[verb], verb
            if place not in (LOCK, SCOPE):
                assert await store.scopes() == scopes


# A listing passes over what has a unit's name and is no folder, but for a link.
UNIT_GONE = {(CONVERSATION, "conversations"), (CONVERSATION, "search_turns everywhere")}


@pytest.mark.parametrize("kind", LINKS)
async def test_a_listing_names_a_unit_that_is_a_link(filled: Path, kind: str) -> None:
    with planted(filled, CONVERSATION, kind) as root:
        async with FileStore(root) as store:
            assert await store.conversations() == ("c",)
            told = await told_by(store, READS["search_turns everywhere"][0])
            assert CONVERSATION in (told or "")


@pytest.mark.parametrize(("place", "kind"), PLACES)
async def test_a_change_that_goes_by_a_name_refuses_what_is_astray_there_and_changes_nothing(
    filled: Path, place: str, kind: str
) -> None:
    with planted(filled, place, kind) as root:
        before = read_tree(root)
        async with asyncio.timeout(30), FileStore(root) as store:
            for verb, (call, names) in CHANGES.items():
                if place in (LOCK, *names):
                    assert place in (await told_by(store, call) or ""), verb
        assert read_tree(root) == before


@pytest.mark.parametrize("kind", ["file", "pipe", *LINKS])
async def test_a_transfer_moves_every_scope_though_no_conversation_can_be_listed(
    filled: Path, kind: str
) -> None:
    with planted(filled, CONVERSATIONS, kind) as root, temporary_root() as moved_to:
        async with FileStore(root) as source, FileStore(moved_to) as target:
            report = await transfer(source, target)
            assert await target.scopes() == ("u:x",)
    (failed,) = report.failed
    assert failed.unit == Unit("conversation", EVERY)
    assert f"(in {CONVERSATIONS})" in str(failed.error)
    assert not report.is_whole


@pytest.mark.parametrize("kind", ["file", "link away"])
async def test_a_transfer_into_a_root_without_room_for_conversations_moves_scopes(
    filled: Path, kind: str
) -> None:
    with temporary_root() as root, temporary_root() as moved_to:
        async with FileStore(root) as source, FileStore(moved_to) as target:
            await source.write("u:z", "a", "x")
            moved_to.mkdir()
            KINDS[kind](moved_to / CONVERSATIONS)
            assert (await transfer(source, target)).is_whole
            assert await target.scopes() == ("u:z",)
