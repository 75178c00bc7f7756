"""Arguments checked before a connection is taken, in the order of docs/reference/stores.md."""

from collections.abc import Sequence
from datetime import datetime

from commonhold.adapters.postgres.connections import LARGEST_BIGINT
from commonhold.contract.clock import require_aware
from commonhold.contract.ids import MAX_NUMBER, check_conversation_id
from commonhold.contract.paging import require_page_limit
from commonhold.contract.text import NUL, require_encodable


def memory_limit(limit: int | None) -> int | None:
    if limit is not None and limit < 0:
        raise ValueError("limit must be >= 0")
    return column_limit(limit)


def window(after: int, limit: int | None) -> tuple[int, int | None]:
    """`after` and `limit` of a conversation read, as the columns can hold them."""
    if after < 0:
        raise ValueError(f"after must be >= 0, got {after}")
    if limit is not None and limit < 0:
        raise ValueError(f"limit must be >= 0, got {limit}")
    return min(after, LARGEST_BIGINT), column_limit(limit)


def positive_limit(limit: int) -> int:
    if limit < 1:
        raise ValueError(f"limit must be >= 1, got {limit}")
    return min(limit, LARGEST_BIGINT)


def page_limit(limit: int) -> int:
    """A page reads one row more than asked for, and that number must fit as well."""
    require_page_limit(limit)
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


def selectors(through: int | None, turns: Sequence[int] | None) -> None:
    if through is not None and turns is not None:
        raise ValueError("give through= or turns=, not both")
    if through is not None and through < 1:
        raise ValueError(f"through must be >= 1, got {through}")
    if turns and min(turns) < 1:
        raise ValueError(f"turn numbers start at 1, got {min(turns)}")


def number(value: int, *, name: str) -> None:
    """A number that a row holds."""
    if value > MAX_NUMBER:
        raise ValueError(f"parameter {name!r} must be at most {MAX_NUMBER}, got {value}")
