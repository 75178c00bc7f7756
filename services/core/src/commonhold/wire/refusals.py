"""From a refusal on the wire back to the error it came from (docs/reference/errors.md).

`code` and `details` are the contract; the message of a known error is built from them.
"""

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, TypeAlias

from commonhold.contract.errors import (
    ActorInvalidError,
    CommonholdError,
    ConfigurationError,
    ConversationConflictError,
    ConversationFormatError,
    ConversationIdInvalidError,
    DocumentNotFoundError,
    EditOnlyMountError,
    ErrorDetails,
    ForbiddenError,
    MemoryConflictError,
    MemoryFormatError,
    PathInvalidError,
    ReadOnlyMountError,
    ScopeInvalidError,
)
from commonhold.wire.answers import Refusal

Kinds: TypeAlias = tuple[type, ...]

_TEXT: Kinds = (str,)
_TEXT_OR_NULL: Kinds = (str, NoneType)
_NUMBER_OR_NULL: Kinds = (int, NoneType)

# The errors that carry nothing but their message.
_PLAIN: Mapping[str, Callable[[str], CommonholdError | ValueError]] = {
    "agent_configuration_error": ConfigurationError,
    "forbidden": ForbiddenError,
    "neosian_error": CommonholdError,
    "value_error": ValueError,
}
_DETAILED: Mapping[str, tuple[Callable[..., CommonholdError], Mapping[str, Kinds]]] = {
    "agent_conversation_conflict": (
        ConversationConflictError,
        {"conversation_id": _TEXT, "reason": _TEXT},
    ),
    "agent_conversation_format_unsupported": (
        ConversationFormatError,
        {"conversation_id": _TEXT, "reason": _TEXT},
    ),
    "agent_conversation_id_invalid": (
        ConversationIdInvalidError,
        {"conversation_id": _TEXT, "reason": _TEXT},
    ),
    "memory_actor_invalid": (ActorInvalidError, {"actor": _TEXT, "reason": _TEXT}),
    "memory_conflict": (
        MemoryConflictError,
        {
            "scope": _TEXT,
            "path": _TEXT_OR_NULL,
            "reason": _TEXT,
            "expected_version": _NUMBER_OR_NULL,
            "actual_version": _NUMBER_OR_NULL,
        },
    ),
    "memory_document_not_found": (DocumentNotFoundError, {"scope": _TEXT, "path": _TEXT}),
    "memory_edit_only_mount": (EditOnlyMountError, {"mount_path": _TEXT}),
    "memory_format_unsupported": (
        MemoryFormatError,
        {"scope": _TEXT, "path": _TEXT, "reason": _TEXT},
    ),
    "memory_path_invalid": (PathInvalidError, {"path": _TEXT, "reason": _TEXT}),
    "memory_read_only_mount": (ReadOnlyMountError, {"mount_path": _TEXT}),
    "memory_scope_invalid": (ScopeInvalidError, {"scope": _TEXT, "reason": _TEXT}),
}


class UnknownRefusalError(CommonholdError):
    """A refusal that this release has no error for; `refusal_code` is what it was called."""

    def __init__(self, *, refusal_code: str, message: str, details: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.refusal_code = refusal_code
        self._details = {
            key: value
            for key, value in details.items()
            if value is None or isinstance(value, str | int)
        }

    @property
    def details(self) -> ErrorDetails:
        return self._details


def error_of(refusal: Refusal) -> CommonholdError | ValueError:
    """The error to raise; an unknown code, or details that lack a key, degrade to the base."""
    plain = _PLAIN.get(refusal.code)
    if plain is not None:
        return plain(refusal.message)
    kind, keys = _DETAILED.get(refusal.code, (None, {}))
    if kind is None or not all(
        type(refusal.details.get(key, _ABSENT)) in kinds for key, kinds in keys.items()
    ):
        return UnknownRefusalError(
            refusal_code=refusal.code, message=refusal.message, details=refusal.details
        )
    return kind(**{key: refusal.details[key] for key in keys})


class _Absent:
    """Of no kind that a detail may be."""


_ABSENT = _Absent()
