"""Archives that the portability kit restores."""

from datetime import UTC, datetime, timedelta, timezone

from commonhold.conformance.samples import SCOPE, THREAD, says
from commonhold.contract.documents import (
    MemoryDocument,
    MemoryRedaction,
    MemoryVersion,
    ScopeArchive,
)
from commonhold.contract.turns import (
    ConversationArchive,
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
)

MOMENT = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
EAST = timezone(timedelta(hours=5, minutes=30))
# Later than any clock of a test: what a skewed machine may have written.
FUTURE = datetime(2199, 1, 1, tzinfo=UTC)
EXTRA = {"title": "kept", "z": {"y": 1, "bb": [2.5, None, True, "é"], "a": 3}}


def later(seconds: int) -> datetime:
    return MOMENT + timedelta(seconds=seconds)


def document(
    path: str, number: int, *, content: str = "x", redacted: bool = False
) -> MemoryDocument:
    return MemoryDocument(
        scope=SCOPE,
        path=path,
        content=content,
        version=number,
        created_at=MOMENT,
        updated_at=later(number),
        actor="op:import",
        redacted=redacted,
    )


def version(path: str, number: int, *, content: str = "x", redacted: bool = False) -> MemoryVersion:
    return MemoryVersion(
        path=path,
        version=number,
        action="created" if number == 1 else "modified",
        content=content,
        actor="op:import",
        created_at=later(number),
        redacted=redacted,
    )


def act(path: str | None, *, count: int = 1, seconds: int = 0) -> MemoryRedaction:
    return MemoryRedaction(path=path, actor="op:eraser", created_at=later(seconds), count=count)


def scope_archive() -> ScopeArchive:
    """Two live documents, one of them with keys of its own, a deleted one, and a trail."""
    return ScopeArchive(
        scope=SCOPE,
        documents=(
            MemoryDocument(
                scope=SCOPE,
                path="a",
                content="two\r\n",
                version=3,
                created_at=MOMENT,
                updated_at=later(3),
                actor=None,
                extra=EXTRA,
            ),
            document("b", 1, content="", redacted=True),
        ),
        versions=(
            version("a", 1),
            version("a", 3, content="two\r\n"),
            version("b", 1, content="", redacted=True),
            version("gone", 1),
            MemoryVersion(
                path="gone",
                version=2,
                action="deleted",
                content="x",
                actor=None,
                created_at=later(9),
            ),
        ),
        redactions=(act("b", seconds=1), act(None, count=3, seconds=2)),
    )


def turn(number: int, *, text: str = "hello", redacted: bool = False) -> ConversationTurn:
    return ConversationTurn(
        conversation_id=THREAD,
        turn=number,
        messages=() if redacted else (says(text),),
        created_at=later(number),
        actor="conv:x",
        redacted=redacted,
    )


def erased(*turns: int, seconds: int = 0) -> ConversationRedaction:
    return ConversationRedaction(
        conversation_id=THREAD, turns=turns, actor=None, created_at=later(seconds)
    )


def conversation_archive() -> ConversationArchive:
    """Turns, one of them redacted, projections with ties, and a trail."""
    return ConversationArchive(
        conversation_id=THREAD,
        turns=(turn(1, text="hello Zog"), turn(2, redacted=True), turn(3, text="bye")),
        projections=(
            ConversationProjection(turn=1, kind="log", text="first"),
            ConversationProjection(turn=1, kind="log", text="second"),
            ConversationProjection(turn=3, kind="epoch", text="all", span=3),
        ),
        redactions=(erased(2, seconds=5), erased(2, 7, seconds=6)),
    )
