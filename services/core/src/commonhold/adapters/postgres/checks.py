"""Arguments checked before a connection is taken, in the order of docs/reference/stores.md."""

from collections.abc import Sequence
from datetime import datetime

from commonhold.adapters.postgres.connections import LARGEST_BIGINT
from commonhold.contract.clock import require_aware
from commonhold.contract.ids import MAX_NUMBER, check_conversation_id
from commonhold.contract.limits import (
    require_memory_limit,
    require_positive_limit,
    require_window,
)
from commonhold.contract.text import NUL, require_encodable


def memory_limit(limit: int | None) -> int | None:
    require_memory_limit(limit)
    return column_limit(limit)


def window(after: int, limit: int | None) -> tuple[int, int | None]:
    """`after` and `limit` of a conversation read, as the columns can hold them."""
    require_window(after=after, limit=limit)
    return min(after, LARGEST_BIGINT), column_limit(limit)


def positive_limit(limit: int) -> int:
    require_positive_limit(limit)
    return min(limit, LARGEST_BIGINT)


def page_limit(limit: int) -> int:
    """A page reads one row more than asked for, and that number must fit as well."""
    require_positive_limit(limit)
    return min(limit, LARGEST_BIGINT - 1)


def column_limit(limit: int | None) -> int | None:
    return None if limit is None else min(limit, LARGEST_BIGINT)


def since_utc(since: datetime | None) -> datetime | None:
    return None if since is None else require_aware(since, name="since")


def conversation_ids(conversations: Sequence[str] | None) -> tuple[str, ...] | None:
    """The ids checked in order and without repeats; None is the whole store."""
    if conversations is None:
        return None
    return tuple(dict.fromkeys(check_conversation_id(item) for item in conversations))


def id_prefixes(prefixes: Sequence[str]) -> tuple[str, ...]:
    """The prefixes that a stored id may start with."""
    for prefix in prefixes:
        require_encodable(prefix, name="prefixes")
    return tuple(prefix for prefix in prefixes if NUL not in prefix)


def number(value: int, *, name: str) -> None:
    """A number that a row holds."""
    if value > MAX_NUMBER:
        raise ValueError(f"parameter {name!r} must be at most {MAX_NUMBER}, got {value}")
