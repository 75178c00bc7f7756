"""Who calls, what that caller reaches, and the doors that find it out.

A door is an `Authenticator`. There is one for the token table; others can stand beside it,
and the first that knows a credential decides (docs/reference/mcp.md, sections 1 and 2).
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from commonhold.ops.tokens import Client, TokenTable
from commonhold.usecases.mounts import MountTable

SCHEME = "Bearer"
# The last segment of every actor that a write through this service records.
DOOR = "mcp:gateway"

Variant: TypeAlias = Literal["full", "discipline"]


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """What a client sees: its mounts, and the conversations whose ids begin so.

    Prefixes of None reach every conversation, none at all reach no conversation.
    """

    mounts: MountTable
    conversation_prefixes: tuple[str, ...] | None = None
    instructions: Variant = "full"


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The owner of a credential. Without a reach nothing is mounted for it here.

    `is_constrained` says that its token is held to prefixes, so that default mounts never
    come into question.
    """

    client: str
    reach: Reach | None
    is_constrained: bool = False

    @property
    def actor(self) -> str:
        """What writes record; a request cannot choose it (docs/reference/mcp.md, section 10)."""
        return f"{self.client}/{DOOR}"


class Authenticator(Protocol):
    """One way of proving who calls."""

    async def identify(self, authorization: str | None) -> Identity | None:
        """The owner of the credential in the header, or None when this door knows none."""
        ...

    def challenge(self, authorization: str | None) -> str:
        """`WWW-Authenticate` of the 401 to a request that no door knew."""
        ...


class TokenDoor:
    """The static token table: `reaches` has the clients that reach something."""

    def __init__(self, tokens: TokenTable, *, reaches: Mapping[str, Reach]) -> None:
        self._tokens = tokens
        self._identities = {
            client: Identity(
                client=client.actor,
                reach=reaches.get(client.actor),
                is_constrained=client.is_constrained,
            )
            for client in tokens.clients
        }

    async def identify(self, authorization: str | None) -> Identity | None:
        client: Client | None = self._tokens.identify(_canonical(authorization))
        return None if client is None else self._identities[client]

    def challenge(self, authorization: str | None) -> str:  # noqa: ARG002 - the protocol's signature
        return SCHEME


class Doors:
    """Several doors, asked in order; the last one words the challenge."""

    def __init__(self, doors: Sequence[Authenticator]) -> None:
        self._doors = tuple(doors)

    async def identify(self, authorization: str | None) -> Identity | None:
        for door in self._doors:
            identity = await door.identify(authorization)
            if identity is not None:
                return identity
        return None

    def challenge(self, authorization: str | None) -> str:
        return self._doors[-1].challenge(authorization)


def bearer_token(authorization: str | None) -> str | None:
    """The token of the header, whose scheme has no case; None when it carries none."""
    scheme, space, token = (authorization or "").partition(" ")
    return token if space and scheme.lower() == SCHEME.lower() else None


def _canonical(authorization: str | None) -> str | None:
    """The header as the token table spells it."""
    token = bearer_token(authorization)
    return authorization if token is None else f"{SCHEME} {token}"
