"""The door for access tokens over local issuers, with the clients file as an operator writes it."""

import tomllib
from collections.abc import Callable
from time import monotonic

from commonhold_gateway.bodies import RejectedError
from commonhold_gateway.identities import Identity
from commonhold_gateway.oauth.doors import OAuthDoor
from commonhold_gateway.oauth.issuers import Issuer, parse_issuers
from commonhold_gateway.oauth.resources import ProtectedResource
from commonhold_gateway.replies import Reply
from tests.support.issuers import RESOURCE


def entry(url: str, *, name: str = "acme", extra: str = "", scope: str = "user:{sub}") -> str:
    """One `[[issuers]]`; `extra` has further lines of it."""
    return f"""
[[issuers]]
name = "{name}"
issuer = "{url}"
{extra}
[[issuers.mounts]]
scope = "{scope}"
path = "user"
"""


def issuers_of(text: str) -> tuple[Issuer, ...]:
    return parse_issuers(tomllib.loads(text)["issuers"], tokens=(), resource=RESOURCE)


class Door:
    """A door and what it says to a token."""

    def __init__(self, text: str, *, clock: Callable[[], float] = monotonic) -> None:
        issuers = issuers_of(text)
        self.resource = ProtectedResource(RESOURCE, issuers=issuers)
        self.door = OAuthDoor(issuers, resource=self.resource, clock=clock)

    async def admit(self, token: str) -> Identity:
        identity = await self.door.identify(f"Bearer {token}")
        assert identity is not None
        return identity

    async def refuse(self, token: str) -> Reply:
        try:
            identity = await self.door.identify(f"Bearer {token}")
        except RejectedError as error:
            return error.reply
        raise AssertionError(f"admitted: {identity}")

    def counted(self) -> dict[tuple[str, ...], int]:
        return {tuple(labels): count for labels, count in self.door.tokens() if count}


def header(reply: Reply, name: str) -> str | None:
    return next((value.decode() for key, value in reply.headers if key.decode() == name), None)
