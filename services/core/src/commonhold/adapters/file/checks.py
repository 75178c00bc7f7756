"""What both seams ask of their arguments, before a thread is taken."""

from collections.abc import Sequence
from datetime import datetime

from commonhold.contract.clock import require_aware
from commonhold.contract.ids import MAX_NUMBER, check_conversation_id, check_path, check_scope
from commonhold.contract.search import query_terms
from commonhold.contract.text import require_encodable, require_storable
from commonhold.contract.turns import ConversationProjection


def names(scope: str, *paths: str) -> None:
    check_scope(scope)
    for path in paths:
        check_path(path)


def actor(value: str | None) -> None:
    if value is not None:
        require_storable(value, name="actor")


def since_utc(since: datetime | None) -> datetime | None:
    return None if since is None else require_aware(since, name="since")


def terms(query: str) -> tuple[str, ...]:
    found = query_terms(query)
    require_encodable(query, name="query")
    return found


def conversation_ids(conversations: Sequence[str] | None) -> frozenset[str] | None:
    """The conversations that a caller names, each once; None is the whole store."""
    if conversations is None:
        return None
    return frozenset(check_conversation_id(name) for name in conversations)


def entries(projections: Sequence[ConversationProjection]) -> None:
    for entry in projections:
        if entry.turn > MAX_NUMBER:
            raise ValueError(f"parameter 'turn' must be 1 to {MAX_NUMBER}, got {entry.turn}")
        require_storable(entry.text, name="text")
