"""The route table: what is served, what each route acts on, whether it changes anything.

A route is one line here. The allowance, the matrix of tokens in the tests and the metrics'
labels all come from this table.
"""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from commonhold_state.allowances import Target
from commonhold_state.calls import Call
from commonhold_state.handlers import documents, feeds, keys, turns, units

HEALTH = "/health"
CAPABILITIES = "/v1/capabilities"
MCP = "/mcp"
# The label of requests that meet no route.
UNKNOWN = "unknown"


class Route(msgspec.Struct, frozen=True):
    """A POST route over the store."""

    path: str
    target: Target
    handle: Callable[[Call], Awaitable[bytes]]
    mutates: bool = False


ROUTES: tuple[Route, ...] = (
    Route("/v1/memory/read", Target.SCOPE, documents.read),
    Route("/v1/memory/write", Target.SCOPE, documents.write, mutates=True),
    Route("/v1/memory/delete", Target.SCOPE, documents.delete, mutates=True),
    Route("/v1/memory/rename", Target.SCOPE, documents.rename, mutates=True),
    Route("/v1/memory/list_documents", Target.SCOPE, documents.list_documents),
    Route("/v1/memory/versions", Target.SCOPE, documents.versions),
    Route("/v1/memory/redact", Target.SCOPE, documents.redact, mutates=True),
    Route("/v1/memory/history", Target.SCOPE, documents.history),
    Route("/v1/memory/redactions", Target.SCOPE, documents.redactions),
    Route("/v1/conversation/append_turn", Target.CONVERSATION, turns.append_turn, mutates=True),
    Route("/v1/conversation/read_turns", Target.CONVERSATION, turns.read_turns),
    Route("/v1/conversation/last_turn_number", Target.CONVERSATION, turns.last_turn_number),
    Route("/v1/conversation/search_turns", Target.CONVERSATIONS, turns.search_turns),
    Route(
        "/v1/conversation/append_projections",
        Target.CONVERSATION,
        turns.append_projections,
        mutates=True,
    ),
    Route("/v1/conversation/read_projections", Target.CONVERSATION, turns.read_projections),
    Route("/v1/conversation/redact_turns", Target.CONVERSATION, turns.redact_turns, mutates=True),
    Route("/v1/conversation/turn_redactions", Target.CONVERSATIONS, turns.turn_redactions),
    Route("/v1/store/scopes", Target.WHOLE_STORE, units.scopes),
    Route("/v1/store/conversations", Target.WHOLE_STORE, units.conversations),
    Route("/v1/store/restore_scope", Target.WHOLE_STORE, units.restore_scope, mutates=True),
    Route(
        "/v1/store/restore_conversation",
        Target.WHOLE_STORE,
        units.restore_conversation,
        mutates=True,
    ),
)

# Known to the wire and lacking their capability here: they refuse with a reason, not with 404.
RESERVED: tuple[Route, ...] = (
    Route("/v1/memory/changes", Target.SCOPE, feeds.missing),
    Route("/v1/memory/prune_changes", Target.WHOLE_STORE, feeds.missing),
)

# Commonhold's own, beyond the wire. An answer may be of any scope or conversation.
OWN: tuple[Route, ...] = (Route("/v1/idempotency/recall", Target.WHOLE_STORE, keys.recall),)

TABLE: Mapping[str, Route] = {route.path: route for route in (*ROUTES, *RESERVED, *OWN)}
LABELS = (*TABLE, HEALTH, CAPABILITIES, UNKNOWN)
