"""Following pages (docs/reference/wire.md, section 9)."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from commonhold.contract.clock import format_timestamp, require_aware
from commonhold.contract.limits import require_positive_limit
from commonhold.contract.paging import PAGE_SIZE

Row = TypeVar("Row")
Mark = TypeVar("Mark", str, int)


async def follow(
    fetch: Callable[[Mark | None, int | None], Awaitable[tuple[Sequence[Row], Mark | None]]],
    *,
    start: Mark | None,
    limit: int | None,
    endless: Callable[[], Exception],
) -> tuple[Row, ...]:
    """All rows up to `limit`; `fetch` takes where a page begins and how many rows are left.

    Raises what `endless` makes for a page that says that it follows itself.
    """
    rows: list[Row] = []
    mark, left = start, limit
    while True:
        page, following = await fetch(mark, left)
        rows += page
        if left is not None:
            left -= len(page)
        if following is None or not page or (left is not None and left <= 0):
            return tuple(rows if limit is None else rows[:limit])
        if following == mark:
            raise endless()
        mark = following


def page_limit(limit: int) -> int:
    """A page holds no more than this, however many are asked for."""
    require_positive_limit(limit)
    return min(limit, PAGE_SIZE)


def require_within(rows: Sequence[object], *, limit: int, bound: int, what: str) -> None:
    """Raise ValueError where the wire's bound, and not `limit`, may have cut the answer."""
    if limit > bound and len(rows) >= bound:
        raise ValueError(f"the wire answers at most {bound} {what}; lower the limit or narrow it")


def since_text(since: datetime | None) -> str | None:
    return None if since is None else format_timestamp(require_aware(since, name="since"))
