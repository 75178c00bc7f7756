"""What text a store can hold: no U+0000 and no lone surrogate.

Postgres text has no U+0000, and no UTF-8 has a lone surrogate, so both are refused at
the door by the name of the parameter (docs/reference/wire.md, section 4).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

NUL = "\x00"

_ESCAPED_NUL = b"\\u0000"
_encode = msgspec.json.Encoder().encode


def require_storable(value: str, *, name: str) -> None:
    """Raise ValueError, naming the parameter, when the text cannot be stored."""
    fault = text_fault(value)
    if fault is not None:
        raise ValueError(f"parameter {name!r} must not contain {fault}")


def require_encodable(value: str, *, name: str) -> None:
    """Raise ValueError for a lone surrogate; U+0000 is fine where text is only compared."""
    if has_lone_surrogate(value):
        raise ValueError(f"parameter {name!r} must not contain a lone surrogate")


def require_storable_tree(value: Any, *, name: str) -> None:
    """`require_storable` for every string and key inside JSON values and records."""
    if _is_surely_storable(value):
        return
    for text in _texts(value):
        require_storable(text, name=name)


def text_fault(value: str) -> str | None:
    """What makes a text impossible to store, in words; None for a good one."""
    if NUL in value:
        return "U+0000"
    return "a lone surrogate" if has_lone_surrogate(value) else None


def has_lone_surrogate(value: str) -> bool:
    if value.isascii():
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False


def _is_surely_storable(value: Any) -> bool:
    """Whether its JSON says so: a tenth of the time of a walk through the strings.

    The encoder refuses a lone surrogate and spells U+0000 in one way only; a text that
    holds that spelling itself is one for the walk.
    """
    try:
        return _ESCAPED_NUL not in _encode(value)
    except (UnicodeEncodeError, msgspec.MsgspecError, RecursionError, TypeError, ValueError):
        return False


def _texts(root: Any) -> list[str]:
    found: list[str] = []
    # A stack, not recursion: the depth of a body is the caller's choice.
    pending = [root]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, Mapping):
            pending.extend(value.keys())
            pending.extend(value.values())
        elif isinstance(value, msgspec.Struct):
            pending.extend(getattr(value, field) for field in value.__struct_fields__)
        elif isinstance(value, Sequence) and not isinstance(value, bytes):
            pending.extend(value)
    return found
