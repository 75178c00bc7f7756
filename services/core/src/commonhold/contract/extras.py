"""`extra`: the keys of a document beside the contract's own, and what fits all stores.

docs/reference/stores.md, section 9. One store writes the keys beside its own, another as
nested blocks of text: the limits are what each of them can hold and read again.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

# What stands above a document's content in a file under these names is not `extra`.
RESERVED_KEYS = ("neosian_format", "version", "created_at", "updated_at", "actor", "redacted")
MOST_EXTRA_LEVELS = 200
MOST_EXTRA_VALUES = 100_000

# As many digits as a number has anywhere (docs/reference/wire.md, section 4).
BEYOND_NUMBERS = 10**4300


def check_extra(extra: Any) -> None:
    """Raise ValueError for what is no object of JSON, or not one that every store keeps."""
    if not isinstance(extra, Mapping):
        raise ValueError("parameter 'extra' must be an object")
    for name in RESERVED_KEYS:
        if name in extra:
            raise ValueError(f"parameter 'extra' must not contain the reserved key {name!r}")
    # A stack, not recursion: the depth is the caller's choice.
    pending: list[tuple[int, Any]] = [(1, extra)]
    count = 0
    while pending:
        level, container = pending.pop()
        for value in _values_of(container):
            count += 1
            if level > MOST_EXTRA_LEVELS:
                raise ValueError(
                    f"parameter 'extra' is nested deeper than {MOST_EXTRA_LEVELS} levels"
                )
            if count > MOST_EXTRA_VALUES:
                raise ValueError(f"parameter 'extra' holds more than {MOST_EXTRA_VALUES} values")
            if _is_container(value):
                pending.append((level + 1, value))


def _values_of(container: Any) -> Iterable[Any]:
    if not isinstance(container, Mapping):
        return container  # type: ignore[no-any-return]  # a list or a tuple
    for name in container:
        if not isinstance(name, str):
            raise ValueError(f"parameter 'extra' has the key {name!r}, which is no text")
    return container.values()


def _is_container(value: Any) -> bool:
    """Whether there is more inside; ValueError for what is no JSON."""
    match value:
        case Mapping() | list() | tuple():
            return True
        case None | str() | bool():
            return False
        case int() if abs(value) < BEYOND_NUMBERS:
            return False
        case float() if math.isfinite(value):
            return False
        case int() | float():
            raise ValueError("parameter 'extra' holds a number out of range")
    raise ValueError(f"parameter 'extra' holds a {type(value).__name__} that is no JSON")
