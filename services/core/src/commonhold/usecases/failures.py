"""Refusals as text for a model: what went wrong, and what to try instead.

docs/reference/memory-tool.md, section 7.
"""

import structlog

from commonhold.contract.errors import (
    CommonholdError,
    ConversationStoreError,
    MemoryConflictError,
    MemoryStoreError,
    StoreUnavailableError,
)
from commonhold.usecases.envelopes import ToolResult, fail

logger = structlog.get_logger(__name__)

# The code of a call that broke, whatever it was that broke.
EXECUTION_FAILED = "tool_execution_failed"
STORE_AWAY = "the store is not reachable at the moment"

LOOK_AROUND = "View / to see what is there."
CREATE_AGAIN = "Create it again if it is still needed."
_LOOK_AGAIN = "It changed meanwhile: view it again, then retry."
_HINTS = {
    "memory_document_not_found": LOOK_AROUND,
    "memory_path_invalid": LOOK_AROUND,
    "memory_read_only_mount": "Choose a mount that can be written.",
    "memory_edit_only_mount": "Edit a document that is already there instead.",
    "memory_format_unsupported": "A newer release wrote it; leave it as it is.",
}
_CONFLICT_HINTS = {
    "version_mismatch": _LOOK_AGAIN,
    "document_absent": _LOOK_AGAIN,
    "revert_stale": _LOOK_AGAIN,
    "destination_exists": "Pick another name, or edit the document that is there.",
}
_REPEAT = "Nothing was changed. Repeat the call in a moment."
_REPEAT_WITH_KEY = (
    "Whether the change was made is unknown. Repeat the call in a moment: with its idempotency "
    "key the change is made once; without one, look first at what is there."
)
# Refusals that are the caller's to mend. Any other error may tell of the deployment.
_TOLD = (MemoryStoreError, ConversationStoreError)
# What a store behind a token answers; its message is written for the bearer.
_FORBIDDEN = "forbidden"


class CommandError(Exception):
    """A refusal of a command itself, with no code of the contract."""

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code


class RedactedDocumentError(CommandError):
    """An edit of a document whose content was erased."""

    def __init__(self, virtual_path: str) -> None:
        super().__init__(f"{virtual_path} is redacted; its content was cleared", hint=CREATE_AGAIN)


def answer_failure(tool: str, error: Exception, *, changes: bool) -> ToolResult:
    """Render what a tool raised; `changes` says whether the call could change something.

    Only refusals meant for the caller are told, and that the store is away. What else broke
    is logged under the ids that the edge has bound, and answered without a word of it.
    """
    if isinstance(error, CommandError):
        return fail(error.message, hint=error.hint, code=error.code)
    if isinstance(error, CommonholdError) and _is_told(error):
        return fail(f"[{error.code}] {error.message}", hint=_hint(error))
    if isinstance(error, StoreUnavailableError):
        # Every call says so while a database is away; where in the code it was tells nothing.
        logger.error("tool_failed", tool=tool, reason=error.reason)
        return fail(
            f"Tool {tool!r} failed: {STORE_AWAY}",
            hint=_REPEAT_WITH_KEY if changes else _REPEAT,
            code=EXECUTION_FAILED,
        )
    logger.error("tool_failed", tool=tool, exc_info=error)
    return fail(f"Tool {tool!r} failed: internal error", code=EXECUTION_FAILED)


def _is_told(error: CommonholdError) -> bool:
    return isinstance(error, _TOLD) or error.code == _FORBIDDEN


def _hint(error: CommonholdError) -> str | None:
    if isinstance(error, MemoryConflictError):
        return _CONFLICT_HINTS.get(error.reason)
    return _HINTS.get(error.code)
