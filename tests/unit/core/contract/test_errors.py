"""Codes, details and messages as docs/reference/errors.md prints them (sections 2, 3 and 5)."""

from typing import Any

import pytest

from commonhold.contract import (
    ActorInvalidError,
    ClaimLostError,
    CommonholdError,
    ConfigurationError,
    ConversationConflictError,
    ConversationFormatError,
    ConversationIdInvalidError,
    ConversationStoreError,
    DocumentNotFoundError,
    EditOnlyMountError,
    MemoryConflictError,
    MemoryFormatError,
    MemoryStoreError,
    PathInvalidError,
    ReadOnlyMountError,
    ScopeInvalidError,
    StoreUnavailableError,
)

SHAPE_OF_PATH = "segments must be [A-Za-z0-9_.-]{1,128} joined by '/'"
SHAPE_OF_ID = "must match [A-Za-z0-9_.-]{1,128} \u2014 one flat segment"

# The error, its parent, its code, its message and its details, in the order of the page.
LITERALS: tuple[tuple[CommonholdError, type[CommonholdError], str, str, dict[str, Any]], ...] = (
    (
        MemoryConflictError(
            scope="user:p2",
            path="notes/a",
            reason="version_mismatch",
            expected_version=1,
            actual_version=3,
        ),
        MemoryStoreError,
        "memory_conflict",
        "Memory conflict on 'notes/a' in scope 'user:p2': version_mismatch",
        {
            "scope": "user:p2",
            "path": "notes/a",
            "reason": "version_mismatch",
            "expected_version": 1,
            "actual_version": 3,
        },
    ),
    (
        MemoryConflictError(
            scope="user:p2", path="nope", reason="document_absent", expected_version=1
        ),
        MemoryStoreError,
        "memory_conflict",
        "Memory conflict on 'nope' in scope 'user:p2': document_absent",
        {
            "scope": "user:p2",
            "path": "nope",
            "reason": "document_absent",
            "expected_version": 1,
            "actual_version": None,
        },
    ),
    (
        MemoryConflictError(scope="user:p2", path="notes/f", reason="destination_exists"),
        MemoryStoreError,
        "memory_conflict",
        "Memory conflict on 'notes/f' in scope 'user:p2': destination_exists",
        {
            "scope": "user:p2",
            "path": "notes/f",
            "reason": "destination_exists",
            "expected_version": None,
            "actual_version": None,
        },
    ),
    (
        MemoryConflictError(scope="user:ok8", path=None, reason="target_occupied"),
        MemoryStoreError,
        "memory_conflict",
        "Memory conflict in scope 'user:ok8': target_occupied",
        {
            "scope": "user:ok8",
            "path": None,
            "reason": "target_occupied",
            "expected_version": None,
            "actual_version": None,
        },
    ),
    (
        DocumentNotFoundError(scope="user:p2", path="notes/e"),
        MemoryStoreError,
        "memory_document_not_found",
        "Memory document not found: 'notes/e' in scope 'user:p2'",
        {"scope": "user:p2", "path": "notes/e"},
    ),
    (
        ScopeInvalidError(scope="User:1", reason="does not match <type>:<id>[/...]"),
        MemoryStoreError,
        "memory_scope_invalid",
        "Invalid memory scope 'User:1': does not match <type>:<id>[/...]",
        {"scope": "User:1", "reason": "does not match <type>:<id>[/...]"},
    ),
    (
        PathInvalidError(path="it's", reason=SHAPE_OF_PATH),
        MemoryStoreError,
        "memory_path_invalid",
        f'Invalid memory document path "it\'s": {SHAPE_OF_PATH}',
        {"path": "it's", "reason": SHAPE_OF_PATH},
    ),
    (
        PathInvalidError(path='it\'s "x" \\', reason=SHAPE_OF_PATH),
        MemoryStoreError,
        "memory_path_invalid",
        f"Invalid memory document path 'it\\'s \"x\" \\\\': {SHAPE_OF_PATH}",
        {"path": 'it\'s "x" \\', "reason": SHAPE_OF_PATH},
    ),
    (
        ActorInvalidError(actor="a", reason="does not match <kind>:<id>[/...][#<turn>]"),
        MemoryStoreError,
        "memory_actor_invalid",
        "Invalid actor 'a': does not match <kind>:<id>[/...][#<turn>]",
        {"actor": "a", "reason": "does not match <kind>:<id>[/...][#<turn>]"},
    ),
    (
        ReadOnlyMountError(mount_path="kb"),
        MemoryStoreError,
        "memory_read_only_mount",
        "Memory mount 'kb' is read-only",
        {"mount_path": "kb"},
    ),
    (
        EditOnlyMountError(mount_path="board"),
        MemoryStoreError,
        "memory_edit_only_mount",
        "Memory mount 'board' is edit-only: its document set is fixed",
        {"mount_path": "board"},
    ),
    (
        MemoryFormatError(scope="user:rx", path="a", reason="format 7 is newer than 1"),
        MemoryStoreError,
        "memory_format_unsupported",
        "Unsupported memory format for 'a' in scope 'user:rx': format 7 is newer than 1",
        {"scope": "user:rx", "path": "a", "reason": "format 7 is newer than 1"},
    ),
    (
        ConversationIdInvalidError(conversation_id="a/b", reason=SHAPE_OF_ID),
        ConversationStoreError,
        "agent_conversation_id_invalid",
        f"Invalid conversation id 'a/b': {SHAPE_OF_ID}",
        {"conversation_id": "a/b", "reason": SHAPE_OF_ID},
    ),
    (
        ConversationConflictError(conversation_id="rc1", reason="target_occupied"),
        ConversationStoreError,
        "agent_conversation_conflict",
        "Conversation conflict on 'rc1': target_occupied",
        {"conversation_id": "rc1", "reason": "target_occupied"},
    ),
    (
        ConversationFormatError(conversation_id="rc10", reason="turn row 1 has no message array"),
        ConversationStoreError,
        "agent_conversation_format_unsupported",
        "Unsupported turn format in conversation 'rc10': turn row 1 has no message array",
        {"conversation_id": "rc10", "reason": "turn row 1 has no message array"},
    ),
    (
        ConfigurationError("FileStore does not erase turns"),
        CommonholdError,
        "agent_configuration_error",
        "FileStore does not erase turns",
        {},
    ),
    (
        StoreUnavailableError("the pool is full"),
        CommonholdError,
        "store_unavailable",
        "store unavailable: the pool is full",
        {},
    ),
    (
        ClaimLostError(name="user:ana", token=7),
        CommonholdError,
        "store_claim_lost",
        "Claim on 'user:ana' is lost: token 7 no longer stands",
        {"name": "user:ana", "token": 7},
    ),
    (MemoryStoreError("x"), CommonholdError, "memory_error", "x", {}),
    (ConversationStoreError("x"), CommonholdError, "agent_conversation_error", "x", {}),
    (CommonholdError("x"), CommonholdError, "neosian_error", "x", {}),
)


@pytest.mark.parametrize(
    ("error", "parent", "code", "message", "details"),
    LITERALS,
    ids=[f"{place}-{literal[2]}" for place, literal in enumerate(LITERALS)],
)
def test_an_error_is_as_the_page_prints_it(
    error: CommonholdError,
    parent: type[CommonholdError],
    code: str,
    message: str,
    details: dict[str, Any],
) -> None:
    assert isinstance(error, parent)
    assert (error.code, error.message, str(error)) == (code, message, message)
    assert list(error.details.items()) == list(details.items())


def test_only_an_unavailable_store_is_worth_a_retry() -> None:
    assert {type(error) for error, *_ in LITERALS if error.retryable} == {StoreUnavailableError}


def test_every_error_of_the_contract_has_a_code_of_its_own() -> None:
    codes = [error.code for error, *_ in {type(row[0]): row for row in LITERALS}.values()]
    assert len(set(codes)) == len(codes)
