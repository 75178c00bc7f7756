"""From an error to its answer: the one table of codes, and what the edge itself refuses."""

from collections.abc import Mapping

from commonhold.contract.errors import CommonholdError, ForbiddenError
from commonhold.wire.answers import BODY_LIMIT_BYTES
from commonhold.wire.shapes import encode_refusal
from commonhold_state.replies import REFUSAL_HEADS, Reply

# Every code of `commonhold.contract.errors`, and the one of plain value errors.
STATUS: Mapping[str, int] = {
    "agent_configuration_error": 400,
    "agent_conversation_conflict": 400,
    "agent_conversation_error": 400,
    "agent_conversation_format_unsupported": 400,
    "agent_conversation_id_invalid": 400,
    "forbidden": 403,
    "memory_actor_invalid": 400,
    "memory_conflict": 400,
    "memory_document_not_found": 400,
    "memory_edit_only_mount": 400,
    "memory_error": 400,
    "memory_format_unsupported": 400,
    "memory_path_invalid": 400,
    "memory_read_only_mount": 400,
    "memory_scope_invalid": 400,
    "neosian_error": 400,
    "store_claim_lost": 400,
    "store_unavailable": 503,
    "value_error": 400,
}


class RejectedError(Exception):
    """A request that is not judged by its content: `reply` is the answer.

    `reason` is what the metrics and the log call it; None when it is nobody's concern but
    the client's.
    """

    def __init__(self, reply: Reply, *, reason: str | None = None) -> None:
        super().__init__(reason)
        self.reply = reply
        self.reason = reason


def beyond_allowance(target: str) -> ForbiddenError:
    """The token's allowance does not reach what the request names."""
    return ForbiddenError(f"this token's allowance does not reach {target}")


def refusal(error: CommonholdError | ValueError) -> Reply:
    """The enveloped answer of an error that the caller can do something about."""
    if isinstance(error, CommonholdError):
        status = STATUS[error.code]
        body = encode_refusal(error.code, error.message, error.details)
    else:
        status = STATUS["value_error"]
        body = encode_refusal("value_error", str(error))
    return Reply(status, REFUSAL_HEADS[status], body)


BODY_TOO_LARGE = Reply(
    413,
    REFUSAL_HEADS[413],
    encode_refusal("value_error", f"request body exceeds {BODY_LIMIT_BYTES} bytes"),
    closes=True,
)
MCP_FENCED = refusal(
    beyond_allowance(
        "/mcp \N{EM DASH} the surface serves the operator's mounts, which no prefix can fence"
    )
)
