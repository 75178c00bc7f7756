"""Pages of listings (docs/reference/stores.md, section 8)."""

from typing import Generic, TypeVar

import msgspec

PAGE_SIZE = 500

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """Rows, and the cursor behind the last of them: None exactly when nothing follows."""

    items: tuple[T, ...] = ()
    next_cursor: str | None = None
