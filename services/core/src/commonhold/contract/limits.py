"""The numbers that a caller selects rows by, refused alike by every store.

Sentences and order are those of docs/reference/stores.md.
"""

from collections.abc import Sequence


def require_memory_limit(limit: int | None) -> None:
    """A listing of the memory seam: none, or 0 and more."""
    if limit is not None and limit < 0:
        raise ValueError("limit must be >= 0")


def require_window(*, after: int, limit: int | None) -> None:
    """`after` and `limit` of a conversation read."""
    if after < 0:
        raise ValueError(f"after must be >= 0, got {after}")
    if limit is not None and limit < 0:
        raise ValueError(f"limit must be >= 0, got {limit}")


def require_positive_limit(limit: int) -> None:
    """A page, a search or a trail."""
    if limit < 1:
        raise ValueError(f"limit must be >= 1, got {limit}")


def require_selectors(*, through: int | None, turns: Sequence[int] | None) -> None:
    """What an erasure of turns covers: one selector, or neither for all."""
    if through is not None and turns is not None:
        raise ValueError("give through= or turns=, not both")
    if through is not None and through < 1:
        raise ValueError(f"through must be >= 1, got {through}")
    if turns and min(turns) < 1:
        raise ValueError(f"turn numbers start at 1, got {min(turns)}")
