"""The table from code to status is complete, and each error's envelope is the wire's."""

import json

import pytest

from commonhold.contract import errors
from commonhold.contract.errors import CommonholdError
from commonhold_state.errors import STATUS, refusal


def tree(root: type[CommonholdError]) -> set[type[CommonholdError]]:
    return {root}.union(*(tree(child) for child in root.__subclasses__()))


def test_every_code_has_a_status_and_every_status_a_code() -> None:
    promised = {kind for kind in tree(CommonholdError) if kind.__module__ == errors.__name__}
    assert len(promised) > 10
    codes = {kind.code for kind in promised}
    assert codes | {"value_error"} == set(STATUS)


def test_statuses() -> None:
    assert {code for code, status in STATUS.items() if status != 400} == {
        "forbidden",
        "store_unavailable",
    }
    assert (STATUS["forbidden"], STATUS["store_unavailable"]) == (403, 503)


@pytest.mark.parametrize(
    ("error", "message", "details"),
    [
        (ValueError("bad 'é'"), "bad 'é'", {}),
        (
            errors.MemoryFormatError(scope="user:rx", path="a", reason="format 7 is newer than 1"),
            "Unsupported memory format for 'a' in scope 'user:rx': format 7 is newer than 1",
            {"scope": "user:rx", "path": "a", "reason": "format 7 is newer than 1"},
        ),
        (
            errors.ConversationFormatError(
                conversation_id="rc10", reason="turn row 1 has no message array"
            ),
            "Unsupported turn format in conversation 'rc10': turn row 1 has no message array",
            {"conversation_id": "rc10", "reason": "turn row 1 has no message array"},
        ),
    ],
)
def test_envelopes(
    error: CommonholdError | ValueError, message: str, details: dict[str, str]
) -> None:
    code = error.code if isinstance(error, CommonholdError) else "value_error"
    expected = {"error": {"code": code, "message": message, "details": details}}
    reply = refusal(error)
    assert reply.status == 400
    assert reply.body.decode() == json.dumps(expected, ensure_ascii=False, separators=(",", ":"))


def test_a_message_is_escaped_twice_and_its_details_once() -> None:
    reply = refusal(errors.PathInvalidError(path='it\'s "x" \\', reason="r"))
    assert b"path 'it\\\\'s \\\"x\\\" \\\\\\\\': r" in reply.body
    assert b'"path":"it\'s \\"x\\" \\\\"' in reply.body
