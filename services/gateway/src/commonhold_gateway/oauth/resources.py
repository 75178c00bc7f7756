"""What this service says of itself as a protected resource (RFC 9728), and its challenges.

docs/reference/mcp.md, section 1.1.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from commonhold_gateway.identities import SCHEME
from commonhold_gateway.oauth.addresses import MCP
from commonhold_gateway.oauth.issuers import Issuer
from commonhold_gateway.oauth.refusals import DESCRIPTIONS
from commonhold_gateway.replies import Reply, forbidden, unauthorized

WELL_KNOWN = "/.well-known/oauth-protected-resource"


class ProtectedResource:
    """The resource as its clients know it, and what they are told when they come without leave."""

    def __init__(self, url: str, *, issuers: Sequence[Issuer]) -> None:
        parts = urlsplit(url)
        self._url = url
        self._path = parts.path
        self._metadata_url = f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path}"
        self._issuers = issuers

    @property
    def documents(self) -> Mapping[str, Reply]:
        """The metadata, at every path where clients look for them."""
        headers = {"content-type": "application/json"}
        reply = Reply(200, msgspec.json.encode(self._metadata), headers=headers)
        return dict.fromkeys((WELL_KNOWN, f"{WELL_KNOWN}{MCP}", f"{WELL_KNOWN}{self._path}"), reply)

    @property
    def challenge(self) -> str:
        """To a request that carries no token (RFC 6750, section 3: no error is named)."""
        return self._challenge()

    def refuse(self, outcome: str) -> Reply:
        """To a token that proves nothing."""
        description = DESCRIPTIONS[outcome]
        return unauthorized(self._challenge(error="invalid_token", error_description=description))

    def ask_for_scopes(self, issuer: Issuer) -> Reply:
        """To a token that was issued for too little."""
        challenge = self._challenge(
            error="insufficient_scope",
            error_description="the token lacks a required scope",
            scope=" ".join(issuer.required_scopes),
        )
        return forbidden(f"{MCP}: the token lacks a required scope", challenge=challenge)

    @property
    def _metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {
            "resource": self._url,
            "authorization_servers": [issuer.issuer for issuer in self._issuers],
            "bearer_methods_supported": ["header"],
        }
        scopes = dict.fromkeys(
            scope for issuer in self._issuers for scope in issuer.required_scopes
        )
        return {**metadata, "scopes_supported": list(scopes)} if scopes else metadata

    def _challenge(self, **parameters: str) -> str:
        named = {"resource_metadata": self._metadata_url, **parameters}
        return f"{SCHEME} " + ", ".join(f'{name}="{value}"' for name, value in named.items())
