"""What an archive must be before a store lands it (docs/reference/wire.md, section 8).

Types are the wire's business; these are the rules over whole units, the same for every
store: numbers, redacted rows, repeats, and the grammars of the names inside.
"""

from collections.abc import Hashable, Iterable, Mapping

from commonhold.contract.clock import require_aware
from commonhold.contract.documents import VERSION_ACTIONS, ScopeArchive
from commonhold.contract.ids import MAX_NUMBER, check_conversation_id, check_path, check_scope
from commonhold.contract.turns import ConversationArchive, ConversationTurn


def check_scope_archive(archive: ScopeArchive) -> None:
    """Raise ValueError for a bad row, then ScopeInvalidError, then PathInvalidError."""
    for document in archive.documents:
        _require_number(document.version, at_least=1, name="version")
        _require_blank(document.content, redacted=document.redacted, what="document")
        if not isinstance(document.extra, Mapping):
            raise ValueError("parameter 'extra' must be an object")
        require_aware(document.created_at, name="created_at")
        require_aware(document.updated_at, name="updated_at")
    for version in archive.versions:
        _require_number(version.version, at_least=1, name="version")
        if version.action not in VERSION_ACTIONS:
            raise ValueError(
                f"parameter 'action' must be one of {list(VERSION_ACTIONS)}, got {version.action!r}"
            )
        _require_blank(version.content, redacted=version.redacted, what="version")
        require_aware(version.created_at, name="created_at")
    for act in archive.redactions:
        _require_number(act.count, at_least=0, name="count")
        require_aware(act.created_at, name="created_at")
    _require_distinct((document.path for document in archive.documents), "document path")
    _require_distinct(((row.path, row.version) for row in archive.versions), "version")
    check_scope(archive.scope)
    for path in _paths(archive):
        check_path(path)


def check_conversation_archive(archive: ConversationArchive) -> None:
    """Raise ValueError for a bad row, then ConversationIdInvalidError."""
    for turn in archive.turns:
        _require_number(turn.turn, at_least=1, name="turn")
        _require_messages(turn)
        require_aware(turn.created_at, name="created_at")
    _require_distinct((turn.turn for turn in archive.turns), "turn")
    for entry in archive.projections:
        _require_number(entry.turn, at_least=1, name="turn")
    for act in archive.redactions:
        if not act.turns:
            raise ValueError("parameter 'turns' must name turn numbers from 1")
        for number in act.turns:
            _require_number(number, at_least=1, name="turns")
        require_aware(act.created_at, name="created_at")
    check_conversation_id(archive.conversation_id)


def _paths(archive: ScopeArchive) -> Iterable[str]:
    yield from (document.path for document in archive.documents)
    yield from (version.path for version in archive.versions)
    yield from (act.path for act in archive.redactions if act.path is not None)


def _require_number(value: int, *, at_least: int, name: str) -> None:
    if not at_least <= value <= MAX_NUMBER:
        raise ValueError(f"parameter {name!r} must be {at_least} to {MAX_NUMBER}, got {value}")


def _require_blank(content: str, *, redacted: bool, what: str) -> None:
    if redacted and content:
        raise ValueError(f"a redacted {what} must have empty content")


def _require_messages(turn: ConversationTurn) -> None:
    if turn.redacted and turn.messages:
        raise ValueError(f"turn {turn.turn} is redacted yet carries messages")
    if not turn.redacted and not turn.messages:
        raise ValueError(f"turn {turn.turn} must carry at least one message")


def _require_distinct(keys: Iterable[Hashable], what: str) -> None:
    seen: set[Hashable] = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"duplicate {what} in archive: {key!r}")
        seen.add(key)
