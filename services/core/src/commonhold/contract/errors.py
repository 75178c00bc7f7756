"""Every refusal a store can give, with the code and details that cross the wire.

Messages, codes and details are those of docs/reference/errors.md, sections 2 and 3.
Plain value errors (a bad limit, an empty message list) are Python's ValueError.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

ErrorDetails: TypeAlias = Mapping[str, str | int | None]

MemoryConflictReason: TypeAlias = Literal[
    "version_mismatch",
    "document_absent",
    "destination_exists",
    "target_occupied",
    "revert_stale",
    "case_collision",
    "layout_clash",
]


class CommonholdError(Exception):
    """The root. `code` is stable; `details` always has every key of its class."""

    code: ClassVar[str] = "neosian_error"
    # Of every error of a class, unless an instance says otherwise.
    retryable: bool = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    @property
    def details(self) -> ErrorDetails:
        return {}


class ConfigurationError(CommonholdError):
    """The deployment lacks what the call needs: a capability, a setting, a schema."""

    code = "agent_configuration_error"


class ForbiddenError(CommonholdError):
    """The caller's token does not reach what the call names (docs/reference/wire.md, section 3)."""

    code = "forbidden"


class StoreUnavailableError(CommonholdError):
    """The store cannot answer now; the outcome of a mutation is unknown.

    Repeat the call, a mutation with its idempotency key
    (docs/reference/wire.md, section 2).
    """

    code = "store_unavailable"
    retryable = True

    def __init__(self, reason: str) -> None:
        super().__init__(f"store unavailable: {reason}")
        self.reason = reason


class ClaimLostError(CommonholdError):
    """Somebody else took over what the caller had claimed; it can finish nothing more.

    docs/reference/stores.md, section 17.
    """

    code = "store_claim_lost"

    def __init__(self, *, name: str, token: int) -> None:
        super().__init__(f"Claim on {name!r} is lost: token {token} no longer stands")
        self.name = name
        self.token = token

    @property
    def details(self) -> ErrorDetails:
        return {"name": self.name, "token": self.token}


class MemoryStoreError(CommonholdError):
    """Any refusal of a memory store."""

    code = "memory_error"


class ConversationStoreError(CommonholdError):
    """Any refusal of a conversation store."""

    code = "agent_conversation_error"


class ScopeInvalidError(MemoryStoreError):
    code = "memory_scope_invalid"

    def __init__(self, *, scope: str, reason: str) -> None:
        super().__init__(f"Invalid memory scope {scope!r}: {reason}")
        self.scope = scope
        self.reason = reason

    @property
    def details(self) -> ErrorDetails:
        return {"scope": self.scope, "reason": self.reason}


class PathInvalidError(MemoryStoreError):
    code = "memory_path_invalid"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(f"Invalid memory document path {path!r}: {reason}")
        self.path = path
        self.reason = reason

    @property
    def details(self) -> ErrorDetails:
        return {"path": self.path, "reason": self.reason}


class ActorInvalidError(MemoryStoreError):
    code = "memory_actor_invalid"

    def __init__(self, *, actor: str, reason: str) -> None:
        super().__init__(f"Invalid actor {actor!r}: {reason}")
        self.actor = actor
        self.reason = reason

    @property
    def details(self) -> ErrorDetails:
        return {"actor": self.actor, "reason": self.reason}


class DocumentNotFoundError(MemoryStoreError):
    code = "memory_document_not_found"

    def __init__(self, *, scope: str, path: str) -> None:
        super().__init__(f"Memory document not found: {path!r} in scope {scope!r}")
        self.scope = scope
        self.path = path

    @property
    def details(self) -> ErrorDetails:
        return {"scope": self.scope, "path": self.path}


class MemoryConflictError(MemoryStoreError):
    """The caller's picture of a scope is not what the store holds."""

    code = "memory_conflict"

    def __init__(
        self,
        *,
        scope: str,
        path: str | None,
        reason: MemoryConflictReason,
        expected_version: int | None = None,
        actual_version: int | None = None,
    ) -> None:
        where = f"in scope {scope!r}" if path is None else f"on {path!r} in scope {scope!r}"
        super().__init__(f"Memory conflict {where}: {reason}")
        self.scope = scope
        self.path = path
        self.reason: MemoryConflictReason = reason
        self.expected_version = expected_version
        self.actual_version = actual_version

    @property
    def details(self) -> ErrorDetails:
        return {
            "scope": self.scope,
            "path": self.path,
            "reason": self.reason,
            "expected_version": self.expected_version,
            "actual_version": self.actual_version,
        }


class MemoryFormatError(MemoryStoreError):
    """A stored row is newer than this release reads, or malformed."""

    code = "memory_format_unsupported"

    def __init__(self, *, scope: str, path: str, reason: str) -> None:
        super().__init__(f"Unsupported memory format for {path!r} in scope {scope!r}: {reason}")
        self.scope = scope
        self.path = path
        self.reason = reason

    @property
    def details(self) -> ErrorDetails:
        return {"scope": self.scope, "path": self.path, "reason": self.reason}


class ReadOnlyMountError(MemoryStoreError):
    """A change through a mount that only shows its scope (memory-tool.md, section 3)."""

    code = "memory_read_only_mount"

    def __init__(self, *, mount_path: str) -> None:
        super().__init__(f"Memory mount {mount_path!r} is read-only")
        self.mount_path = mount_path

    @property
    def details(self) -> ErrorDetails:
        return {"mount_path": self.mount_path}


class EditOnlyMountError(MemoryStoreError):
    """A change of which documents there are, through a mount that fixes them."""

    code = "memory_edit_only_mount"

    def __init__(self, *, mount_path: str) -> None:
        super().__init__(f"Memory mount {mount_path!r} is edit-only: its document set is fixed")
        self.mount_path = mount_path

    @property
    def details(self) -> ErrorDetails:
        return {"mount_path": self.mount_path}


class ConversationIdInvalidError(ConversationStoreError):
    code = "agent_conversation_id_invalid"

    def __init__(self, *, conversation_id: str, reason: str) -> None:
        super().__init__(f"Invalid conversation id {conversation_id!r}: {reason}")
        self.conversation_id = conversation_id
        self.reason = reason

    @property
    def details(self) -> ErrorDetails:
        return {"conversation_id": self.conversation_id, "reason": self.reason}


class ConversationConflictError(ConversationStoreError):
    code = "agent_conversation_conflict"

    def __init__(self, *, conversation_id: str, reason: Literal["target_occupied"]) -> None:
        super().__init__(f"Conversation conflict on {conversation_id!r}: {reason}")
        self.conversation_id = conversation_id
        self.reason = reason

    @property
    def details(self) -> ErrorDetails:
        return {"conversation_id": self.conversation_id, "reason": self.reason}


class ConversationFormatError(ConversationStoreError):
    """A stored turn, projection or trail row is newer than this release reads, or malformed."""

    code = "agent_conversation_format_unsupported"

    def __init__(self, *, conversation_id: str, reason: str) -> None:
        super().__init__(f"Unsupported turn format in conversation {conversation_id!r}: {reason}")
        self.conversation_id = conversation_id
        self.reason = reason

    @property
    def details(self) -> ErrorDetails:
        return {"conversation_id": self.conversation_id, "reason": self.reason}
