"""The grammars of names, checked where a value enters (docs/reference/grammar.md).

Each check returns the same text under its own type, or raises the error whose
`reason` says which rule failed first.
"""

import re
from typing import NewType

from commonhold.contract.errors import (
    ActorInvalidError,
    ConfigurationError,
    ConversationIdInvalidError,
    PathInvalidError,
    ScopeInvalidError,
)

Scope = NewType("Scope", str)
DocumentPath = NewType("DocumentPath", str)
ConversationId = NewType("ConversationId", str)
Actor = NewType("Actor", str)
SchemaName = NewType("SchemaName", str)

MAX_LENGTH = 512
MAX_SEGMENTS = 8
MAX_PATH_SEGMENTS = 16
MAX_CONVERSATION_ID_LENGTH = 128
# Versions, turns and counts that a caller names; a larger one is refused or matches nothing.
MAX_NUMBER = 2**31 - 1

_SEGMENT_ID = r"[A-Za-z0-9_.-]{1,128}"
_SCOPE = re.compile(
    rf"[a-z][a-z0-9_]{{0,31}}:{_SEGMENT_ID}(?:/[a-z][a-z0-9_]{{0,31}}:{_SEGMENT_ID})*"
)
_PATH = re.compile(rf"{_SEGMENT_ID}(?:/{_SEGMENT_ID})*")
_CONVERSATION_ID = re.compile(_SEGMENT_ID)
_ACTOR = re.compile(
    rf"[a-z][a-z0-9_-]{{0,31}}:{_SEGMENT_ID}"
    rf"(?:/[a-z][a-z0-9_-]{{0,31}}:{_SEGMENT_ID})*(?:#[1-9][0-9]*)?"
)
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_DOTS = frozenset({".", ".."})


def check_scope(value: str) -> Scope:
    """`<type>:<id>[/...]`; raises ScopeInvalidError (grammar.md, section 1)."""
    reason = _scope_fault(value)
    if reason is not None:
        raise ScopeInvalidError(scope=value, reason=reason)
    return Scope(value)


def check_path(value: str) -> DocumentPath:
    """Segments joined by `/`; raises PathInvalidError (grammar.md, section 2)."""
    reason = _path_fault(value)
    if reason is not None:
        raise PathInvalidError(path=value, reason=reason)
    return DocumentPath(value)


def check_conversation_id(value: str) -> ConversationId:
    """One flat segment; raises ConversationIdInvalidError (grammar.md, section 3)."""
    reason = _conversation_id_fault(value)
    if reason is not None:
        raise ConversationIdInvalidError(conversation_id=value, reason=reason)
    return ConversationId(value)


def check_actor(value: str) -> Actor:
    """An identity an operator names; raises ActorInvalidError (grammar.md, section 4).

    Stored actors are opaque text and never pass here.
    """
    reason = _actor_fault(value)
    if reason is not None:
        raise ActorInvalidError(actor=value, reason=reason)
    return Actor(value)


def check_schema_name(value: str) -> SchemaName:
    """A Postgres schema name; raises ConfigurationError (grammar.md, section 7)."""
    if _SCHEMA_NAME.fullmatch(value) is None:
        raise ConfigurationError(f"schema name {value!r} does not match [a-z_][a-z0-9_]{{0,62}}")
    return SchemaName(value)


def _scope_fault(value: str) -> str | None:
    if len(value) > MAX_LENGTH:
        return f"longer than {MAX_LENGTH} characters"
    if _SCOPE.fullmatch(value) is None:
        return "does not match <type>:<id>[/...]"
    return _segment_ids_fault(value)


def _path_fault(value: str) -> str | None:
    if len(value) > MAX_LENGTH:
        return f"longer than {MAX_LENGTH} characters"
    if _PATH.fullmatch(value) is None:
        return "segments must be [A-Za-z0-9_.-]{1,128} joined by '/'"
    if "/" not in value and "." not in value:
        return None
    segments = value.split("/")
    if len(segments) > MAX_PATH_SEGMENTS:
        return f"more than {MAX_PATH_SEGMENTS} segments"
    for segment in segments:
        if segment in _DOTS:
            return f"segment {segment!r} is reserved"
    return None


def _conversation_id_fault(value: str) -> str | None:
    if len(value) > MAX_CONVERSATION_ID_LENGTH:
        return f"longer than {MAX_CONVERSATION_ID_LENGTH} characters"
    if _CONVERSATION_ID.fullmatch(value) is None:
        return "must match [A-Za-z0-9_.-]{1,128} \N{EM DASH} one flat segment"
    if value in _DOTS:
        return f"id {value!r} is reserved"
    return None


def _actor_fault(value: str) -> str | None:
    named, _, _turn = value.partition("#")
    if len(named) > MAX_LENGTH:
        return f"longer than {MAX_LENGTH} characters"
    if _ACTOR.fullmatch(value) is None:
        return "does not match <kind>:<id>[/...][#<turn>]"
    return _segment_ids_fault(named)


def _segment_ids_fault(value: str) -> str | None:
    segments = value.split("/")
    if len(segments) > MAX_SEGMENTS:
        return f"more than {MAX_SEGMENTS} segments"
    for segment in segments:
        _kind, _, segment_id = segment.partition(":")
        if segment_id in _DOTS:
            return f"id {segment_id!r} is reserved"
    return None
