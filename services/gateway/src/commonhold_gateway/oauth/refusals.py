"""Why a token opens nothing: a closed set of outcomes, with the words that its bearer is told."""

from collections.abc import Mapping

ACCEPTED = "accepted"
MALFORMED = "malformed"
HEADER = "header"
ALGORITHM = "algorithm"
ISSUER = "issuer"
KEY = "key"
SIGNATURE = "signature"
CLAIMS = "claims"
EXPIRED = "expired"
NOT_YET = "not_yet"
AUDIENCE = "audience"
SCOPES = "scopes"
UNMAPPED = "unmapped"
AWAY = "away"

# `error_description` of a 401 (RFC 6750, section 3): no word of the token itself.
DESCRIPTIONS: Mapping[str, str] = {
    MALFORMED: "the token is no signed JWT",
    HEADER: "the token's header is not accepted",
    ALGORITHM: "the token's algorithm is not accepted",
    ISSUER: "the token's issuer is not accepted",
    KEY: "the token's key is not known",
    SIGNATURE: "the token's signature does not verify",
    CLAIMS: "a claim of the token is missing or malformed",
    EXPIRED: "the token has expired",
    NOT_YET: "the token is not valid yet",
    AUDIENCE: "the token is meant for another audience",
}
OUTCOMES = (ACCEPTED, *DESCRIPTIONS, SCOPES, UNMAPPED, AWAY)


class TokenRefusedError(Exception):
    """A token that proves nothing; `outcome` is one of `DESCRIPTIONS`."""

    def __init__(self, outcome: str) -> None:
        super().__init__(DESCRIPTIONS[outcome])
        self.outcome = outcome


class ScopesMissingError(Exception):
    """A token that was issued for less than is asked of it."""


class IssuerAwayError(Exception):
    """The issuer's keys could not be had, so a token can be neither accepted nor refused."""

    def __init__(self, issuer: str) -> None:
        super().__init__(f"the keys of issuer {issuer!r} cannot be fetched")


class UnmappedError(Exception):
    """A proven token whose claims make no client here; the message quotes no value."""
