"""Archives that no store takes: each is refused, and nothing of it lands."""

from collections.abc import Mapping
from typing import Any, Protocol, cast

import msgspec
import pytest

from commonhold.conformance.archives import (
    act,
    conversation_archive,
    document,
    erased,
    scope_archive,
    turn,
    version,
)
from commonhold.conformance.memory_ledger import NAIVE
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import (
    BAD_CONVERSATION_IDS,
    BAD_PATHS,
    BAD_SCOPES,
    SCOPE,
    THREAD,
)
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.documents import ScopeArchive
from commonhold.contract.errors import (
    ConversationIdInvalidError,
    PathInvalidError,
    ScopeInvalidError,
)
from commonhold.contract.messages import ImageBlock, Message
from commonhold.contract.stores import ConversationStore, Erasable, MemoryStore, Portable
from commonhold.contract.turns import ConversationArchive, ConversationProjection

_replace = msgspec.structs.replace

BAD_SCOPE_ROWS: Mapping[str, tuple[str, tuple[Any, ...]]] = {
    "document version 0": ("documents", (document("a", 0),)),
    "document version beyond": ("documents", (_replace(document("a", 1), version=2**31),)),
    "document redacted with content": ("documents", (document("a", 1, redacted=True),)),
    "document given twice": ("documents", (document("a", 1), document("b", 1), document("a", 2))),
    "document stamp naive": ("documents", (_replace(document("a", 1), created_at=NAIVE),)),
    "document update naive": ("documents", (_replace(document("a", 1), updated_at=NAIVE),)),
    "document extra a list": ("documents", (_replace(document("a", 1), extra=cast(Any, [1])),)),
    "version 0": ("versions", (version("a", 0),)),
    "version -1": ("versions", (version("a", -1),)),
    "version beyond": ("versions", (_replace(version("a", 1), version=2**63),)),
    "version action": ("versions", (_replace(version("a", 1), action=cast(Any, "redacted")),)),
    "version redacted with content": ("versions", (version("a", 1, redacted=True),)),
    "version given twice": ("versions", (version("a", 1), version("b", 1), version("a", 1))),
    "version stamp naive": ("versions", (_replace(version("a", 1), created_at=NAIVE),)),
    "act count -1": ("redactions", (act(None, count=-1),)),
    "act count beyond": ("redactions", (act(None, count=2**31),)),
    "act stamp naive": ("redactions", (_replace(act(None), created_at=NAIVE),)),
}
BAD_TURN_ROWS: Mapping[str, tuple[str, tuple[Any, ...]]] = {
    "turn 0": ("turns", (turn(0),)),
    "turn beyond": ("turns", (_replace(turn(1), turn=2**31),)),
    "turn given twice": ("turns", (turn(2), turn(1), turn(2))),
    "turn empty yet not redacted": ("turns", (_replace(turn(1), messages=()),)),
    "turn redacted with messages": ("turns", (_replace(turn(1), redacted=True),)),
    "turn with an image of no source": (
        "turns",
        (_replace(turn(1), messages=(Message(role="user", content=(ImageBlock(),)),)),),
    ),
    "turn stamp naive": ("turns", (_replace(turn(1), created_at=NAIVE),)),
    "projection beyond": (
        "projections",
        (ConversationProjection(turn=2**31, kind="log", text="x"),),
    ),
    "act without turns": ("redactions", (erased(),)),
    "act with turn 0": ("redactions", (erased(1, 0),)),
    "act with a turn beyond": ("redactions", (erased(1, 2**31),)),
    "act stamp naive": ("redactions", (_replace(erased(1), created_at=NAIVE),)),
}


class PortableStore(MemoryStore, ConversationStore, Portable, Erasable, Protocol):
    """What the kit needs of a store: to look at what landed, it reads both seams."""


class RestoreRefusalSlice(StoreSubject):
    """Part of PortableContract."""

    @pytest.mark.parametrize("scope", BAD_SCOPES)
    async def test_a_bad_scope_is_refused(self, store: PortableStore, scope: str) -> None:
        rule = Rule("9", "restore_scope checks the scope before the paths")
        bad = ScopeArchive(scope=scope, documents=(document("a//b", 1),))
        for archive in (ScopeArchive(scope=scope), bad):
            with rule.refuses(ScopeInvalidError, scope=scope):
                await store.restore_scope(archive)
        rule.equal(await store.scopes(), ())

    @pytest.mark.parametrize("path", BAD_PATHS)
    async def test_a_bad_path_is_refused(self, store: PortableStore, path: str) -> None:
        rule = Rule("8", "every path of an archive is inside the grammar", "wire.md")
        for archive in (
            ScopeArchive(scope=SCOPE, documents=(document("a", 1), document(path, 1))),
            ScopeArchive(scope=SCOPE, versions=(version("a", 1), version(path, 1))),
            ScopeArchive(scope=SCOPE, redactions=(act("a"), act(path))),
        ):
            with rule.refuses(PathInvalidError, path=path):
                await store.restore_scope(archive)
        rule.equal(await store.scopes(), ())

    @pytest.mark.parametrize("name", BAD_CONVERSATION_IDS)
    async def test_a_bad_id_is_refused(self, store: PortableStore, name: str) -> None:
        rule = Rule("9", "restore_conversation checks the id")
        with rule.refuses(ConversationIdInvalidError, conversation_id=name):
            await store.restore_conversation(ConversationArchive(conversation_id=name))
        archive = _replace(conversation_archive(), conversation_id=name)
        with rule.refuses(ConversationIdInvalidError, conversation_id=name):
            await store.restore_conversation(archive)
        rule.equal(await store.conversations(), ())

    @pytest.mark.parametrize("case", BAD_SCOPE_ROWS)
    async def test_a_bad_row_of_a_scope_is_refused_whole(
        self, store: PortableStore, case: str
    ) -> None:
        rule = Rule("8", f"refused with a value error, and nothing lands: {case}", "wire.md")
        field, rows = BAD_SCOPE_ROWS[case]
        good = ScopeArchive(
            scope=SCOPE, documents=(document("good", 1),), redactions=(act("good"),)
        )
        archive = _replace(good, **{field: (*getattr(good, field), *rows)})
        with rule.refuses(ValueError):
            await store.restore_scope(archive)
        rule.equal(await store.scopes(), ())
        rule.equal(await store.list_documents(SCOPE), ())
        rule.equal(await store.history(SCOPE), ())
        rule.equal(await store.redactions(SCOPE), ())

    @pytest.mark.parametrize("case", BAD_TURN_ROWS)
    async def test_a_bad_row_of_a_conversation_is_refused_whole(
        self, store: PortableStore, case: str
    ) -> None:
        rule = Rule("8", f"refused with a value error, and nothing lands: {case}", "wire.md")
        field, rows = BAD_TURN_ROWS[case]
        good = ConversationArchive(
            conversation_id=THREAD, turns=(turn(9),), redactions=(erased(9),)
        )
        archive = _replace(good, **{field: (*getattr(good, field), *rows)})
        with rule.refuses(ValueError):
            await store.restore_conversation(archive)
        rule.equal(await store.conversations(), ())
        rule.equal(await store.read_turns(THREAD), ())
        rule.equal(await store.turn_redactions(), ())
        rule.equal((await store.append_turn(THREAD, turn(1).messages)).turn, 1)

    @pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"], ids=["nul", "surrogate"])
    @pytest.mark.parametrize("place", ["content", "version", "actor", "extra", "act"])
    async def test_text_that_cannot_be_kept_is_refused_whole(
        self, store: PortableStore, text: str, place: str
    ) -> None:
        rule = Rule("4", "text that cannot be stored is refused, and nothing lands", "wire.md")
        archive = _unstorable(text, place=place)
        try:
            await store.restore_scope(archive)
        except ValueError:
            rule.equal(await store.scopes(), ())
            rule.equal(await store.history(SCOPE), ())
            return
        rule.equal(await store.scopes(), (SCOPE,))


def _unstorable(text: str, *, place: str) -> ScopeArchive:
    good = scope_archive()
    match place:
        case "content":
            return _replace(good, documents=(document("a", 1, content=text),))
        case "version":
            return _replace(good, versions=(version("a", 1, content=text),))
        case "actor":
            return _replace(good, documents=(_replace(document("a", 1), actor=text),))
        case "extra":
            return _replace(good, documents=(_replace(document("a", 1), extra={"k": [text]}),))
        case _:
            return _replace(good, redactions=(_replace(act(None), actor=text),))
