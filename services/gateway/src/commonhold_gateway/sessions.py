"""The sessions of clients that insist on them (docs/reference/mcp.md, section 3)."""

from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from commonhold_gateway.bodies import RejectedError
from commonhold_gateway.replies import refused

MOST_SESSIONS = 10_000
MOST_SESSIONS_PER_CLIENT = 1_000
SESSION_IDLE_SECONDS = 1800.0


class SessionManager(StreamableHTTPSessionManager):
    """The SDK's, in which one client cannot take all the sessions there are."""

    def __init__(self, app: Server[Any], *, most_per_client: int, **options: Any) -> None:
        super().__init__(app, **options)
        self._most_per_client = most_per_client

    def _admit_session(
        self, requestor: AuthorizationContext | None
    ) -> StreamableHTTPServerTransport | None:
        """Raises RejectedError at the client's bound; the SDK calls it under its lock."""
        held = sum(owner == requestor for owner in self._session_owners.values())
        if held >= self._most_per_client:
            message = f"{held} sessions of this client are open: end one, or wait until one expires"
            raise RejectedError(refused(429, "value_error", message))
        return super()._admit_session(requestor)
