"""The door for access tokens, beside the one for the token table.

docs/reference/mcp.md, section 1.1.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from time import monotonic

import structlog

from commonhold.ops.metrics import Metrics
from commonhold_gateway.bodies import RejectedError
from commonhold_gateway.identities import Identity, bearer_token
from commonhold_gateway.oauth.callers import identity_of
from commonhold_gateway.oauth.fetches import fetch_key_set
from commonhold_gateway.oauth.issuers import Issuer
from commonhold_gateway.oauth.keys import KeyCache, KeySet, read_keys
from commonhold_gateway.oauth.refusals import (
    ACCEPTED,
    AWAY,
    ISSUER,
    OUTCOMES,
    SCOPES,
    UNMAPPED,
    IssuerAwayError,
    ScopesMissingError,
    TokenRefusedError,
    UnmappedError,
)
from commonhold_gateway.oauth.resources import ProtectedResource
from commonhold_gateway.oauth.tokens import UnverifiedToken, read_token, verify
from commonhold_gateway.replies import UNAVAILABLE, forbidden

# The label of tokens that name none of the issuers.
NO_ISSUER = "unknown"

logger = structlog.get_logger(__name__)


class OAuthDoor:
    """Proves the access tokens of its issuers; asked last, since it turns down the others."""

    def __init__(
        self,
        issuers: Sequence[Issuer],
        *,
        resource: ProtectedResource,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._issuers = {issuer.issuer: issuer for issuer in issuers}
        self._resource = resource
        self._keys = {
            issuer.name: KeyCache(issuer.name, fetch=_fetch_of(issuer), clock=clock)
            for issuer in issuers
        }
        names = (*self._keys, NO_ISSUER)
        self._tokens = {(name, outcome): 0 for name in names for outcome in OUTCOMES}

    async def identify(self, authorization: str | None) -> Identity | None:
        """None without a bearer token; raises RejectedError for one that opens nothing."""
        token = bearer_token(authorization)
        if token is None:
            return None
        try:
            unverified = read_token(token)
            issuer = self._issuer(unverified)
        except TokenRefusedError as error:
            self._tokens[NO_ISSUER, error.outcome] += 1
            raise RejectedError(self._resource.refuse(error.outcome)) from None
        return await self._admit(unverified, issuer)

    def challenge(self, authorization: str | None) -> str:  # noqa: ARG002 - the protocol's signature
        return self._resource.challenge

    async def close(self) -> None:
        for keys in self._keys.values():
            await keys.close()

    def report_to(self, metrics: Metrics) -> None:
        metrics.watch_counts(
            "commonhold_oauth_tokens_total",
            "Access tokens presented, by issuer and what became of them.",
            labels=["issuer", "outcome"],
            read=self.tokens,
        )
        metrics.watch_counts(
            "commonhold_oauth_key_fetches_total",
            "Fetches of an issuer's keys.",
            labels=["issuer", "outcome"],
            read=self.fetches,
        )

    def tokens(self) -> Iterable[tuple[Sequence[str], int]]:
        """How many tokens there were, by issuer and outcome."""
        return self._tokens.items()

    def fetches(self) -> Iterable[tuple[Sequence[str], int]]:
        """How often keys were fetched, by issuer and outcome."""
        for name, keys in self._keys.items():
            for outcome, count in keys.fetches.items():
                yield (name, outcome), count

    def _issuer(self, token: UnverifiedToken) -> Issuer:
        issuer = self._issuers.get(token.issuer)
        if issuer is None:
            raise TokenRefusedError(ISSUER)
        return issuer

    async def _admit(self, token: UnverifiedToken, issuer: Issuer) -> Identity:
        outcome = ACCEPTED
        try:
            claims = await verify(token, issuer, keys=self._keys[issuer.name])
            return identity_of(issuer, claims)
        except TokenRefusedError as error:
            outcome = error.outcome
            raise RejectedError(self._resource.refuse(outcome)) from None
        except ScopesMissingError:
            outcome = SCOPES
            raise RejectedError(self._resource.ask_for_scopes(issuer)) from None
        except UnmappedError as error:
            outcome = UNMAPPED
            logger.warning("token_unmapped", issuer=issuer.name, reason=str(error))
            raise RejectedError(forbidden(f"/mcp \N{EM DASH} {error}")) from None
        except IssuerAwayError:
            outcome = AWAY
            raise RejectedError(UNAVAILABLE) from None
        finally:
            self._tokens[issuer.name, outcome] += 1


def _fetch_of(issuer: Issuer) -> Callable[[], Awaitable[KeySet]]:
    async def fetch() -> KeySet:
        document = await fetch_key_set(issuer.issuer, jwks_url=issuer.jwks_url)
        return read_keys(document, algorithms=issuer.algorithms)

    return fetch
