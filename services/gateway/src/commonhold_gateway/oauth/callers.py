"""From the claims of a proven token to its bearer: client, mounts and conversations.

docs/reference/mcp.md, section 1.1.
"""

from collections.abc import Mapping
from typing import Any

from commonhold.contract.errors import CommonholdError
from commonhold.contract.ids import check_actor, check_conversation_id
from commonhold.usecases.mount_entries import mount_of
from commonhold.usecases.mounts import MountTable
from commonhold_gateway.identities import Identity, Reach
from commonhold_gateway.oauth.issuers import KIND, Issuer
from commonhold_gateway.oauth.refusals import ScopesMissingError, UnmappedError
from commonhold_gateway.oauth.templates import ClaimError, Template


def identity_of(issuer: Issuer, claims: Mapping[str, Any]) -> Identity:
    """Raises ScopesMissingError, and UnmappedError for claims that make no names."""
    if not set(issuer.required_scopes) <= _granted(claims):
        raise ScopesMissingError

    def name(template: Template) -> str:
        return template.render(claims, misfits=issuer.misfits)

    try:
        mounts = [mount_of(mount.entry, scope=name(mount.scope)) for mount in issuer.mounts]
        return Identity(
            client=check_actor(f"{KIND}:{issuer.name}/{name(issuer.client)}"),
            reach=Reach(
                mounts=MountTable(tuple(mounts)),
                conversation_prefixes=tuple(
                    check_conversation_id(name(prefix)) for prefix in issuer.conversations
                ),
                instructions=issuer.instructions,
            ),
        )
    except ClaimError as error:
        raise UnmappedError(str(error)) from None
    except CommonholdError:
        # Each value fits its place, and all of them together are too long.
        raise UnmappedError("the token's claims make a name that is too long") from None


def _granted(claims: Mapping[str, Any]) -> set[str]:
    """The scopes of a token: `scope` (RFC 9068), or `scp` as some issuers call it."""
    granted = claims.get("scope", claims.get("scp"))
    if isinstance(granted, str):
        return set(granted.split(" "))
    return (
        {scope for scope in granted if isinstance(scope, str)}
        if isinstance(granted, list)
        else set()
    )
