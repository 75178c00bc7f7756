"""What a constrained token may name in a body (docs/reference/wire.md, section 3).

Only the field a route acts on can satisfy its check; any other reachable field opens
nothing, and any unreachable one refuses.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from commonhold.ops.tokens import Client
from commonhold_state.errors import beyond_allowance

WHOLE_STORE = "the whole store"


class Target(Enum):
    """What a route acts on, hence which field of the body its allowance judges."""

    SCOPE = "scope"
    CONVERSATION = "conversation_id"
    CONVERSATIONS = "conversations"
    WHOLE_STORE = "store"


def require_allowed(client: Client, target: Target, body: Mapping[str, Any]) -> None:
    """Raise ForbiddenError when the client does not reach what the body names."""
    if not client.is_constrained:
        return
    if target is Target.WHOLE_STORE:
        raise beyond_allowance(WHOLE_STORE)
    _judge_scope(client, body.get("scope"), decides=target is Target.SCOPE)
    _judge_id(client, body.get("conversation_id"), decides=target is Target.CONVERSATION)
    _judge_list(client, body.get("conversations"), decides=target is Target.CONVERSATIONS)


def _judge_scope(client: Client, value: Any, *, decides: bool) -> None:
    if not isinstance(value, str):
        _refuse_if(decides)
    elif not client.reaches_scope(value):
        raise beyond_allowance(f"scope {value!r}")


def _judge_id(client: Client, value: Any, *, decides: bool) -> None:
    if not isinstance(value, str):
        _refuse_if(decides)
    elif not client.reaches_conversation(value):
        raise beyond_allowance(f"conversation {value!r}")


def _judge_list(client: Client, value: Any, *, decides: bool) -> None:
    if not isinstance(value, list):
        _refuse_if(decides)
        return
    for item in value:
        # What is no string passes here and fails its type later.
        if isinstance(item, str) and not client.reaches_conversation(item):
            raise beyond_allowance(f"conversation {item!r}")


def _refuse_if(decides: bool) -> None:  # noqa: FBT001 - private, and named at every call
    if decides:
        raise beyond_allowance(WHOLE_STORE)
