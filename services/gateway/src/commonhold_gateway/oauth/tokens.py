"""Whether a JWT is one of an issuer's access tokens for this resource, and what it claims.

docs/reference/mcp.md, section 1.1; RFC 7519, RFC 8725, RFC 9068.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jwt
import msgspec
from jwt.exceptions import (
    DecodeError,
    ExpiredSignatureError,
    ImmatureSignatureError,
    InvalidAudienceError,
    InvalidIssuerError,
    InvalidKeyError,
    InvalidSignatureError,
    PyJWTError,
)

from commonhold_gateway.oauth.issuers import Issuer
from commonhold_gateway.oauth.keys import KeyCache
from commonhold_gateway.oauth.refusals import (
    ALGORITHM,
    AUDIENCE,
    CLAIMS,
    EXPIRED,
    HEADER,
    ISSUER,
    KEY,
    MALFORMED,
    NOT_YET,
    SIGNATURE,
    TokenRefusedError,
)

LIMIT_CHARACTERS = 16 * 1024
LEEWAY_SECONDS = 30.0
# Access tokens (RFC 9068) and JWTs that do not say what they are; not logout tokens,
# security events or proofs of possession, which an issuer signs with the same keys.
TYPES = frozenset({"jwt", "at+jwt", "application/jwt", "application/at+jwt"})

_OPTIONS: Any = {
    "require": ["exp", "iss", "aud"],
    "enforce_minimum_key_length": True,
}
_UNVERIFIED: Any = {"verify_signature": False}
_OUTCOMES: Sequence[tuple[type[PyJWTError], str]] = (
    (ExpiredSignatureError, EXPIRED),
    (ImmatureSignatureError, NOT_YET),
    (InvalidAudienceError, AUDIENCE),
    (InvalidIssuerError, ISSUER),
    (InvalidSignatureError, SIGNATURE),
    (InvalidKeyError, KEY),
)


class UnverifiedToken(msgspec.Struct, frozen=True, kw_only=True):
    """What a token says of itself. Nothing of it is proven."""

    text: str
    issuer: str
    algorithm: str
    key_id: str | None


def read_token(text: str) -> UnverifiedToken:
    """Raises TokenRefusedError. Keys, and addresses of keys, in its header are not looked at."""
    if len(text) > LIMIT_CHARACTERS or not text.isascii():
        raise TokenRefusedError(MALFORMED)
    try:
        header = jwt.get_unverified_header(text)
        claims = jwt.decode(text, options=_UNVERIFIED)
    except DecodeError:
        raise TokenRefusedError(MALFORMED) from None
    except PyJWTError:
        raise TokenRefusedError(HEADER) from None
    kind, algorithm, issuer = header.get("typ", "JWT"), header.get("alg"), claims.get("iss")
    if "crit" in header or not isinstance(kind, str) or kind.lower() not in TYPES:
        raise TokenRefusedError(HEADER)
    if not isinstance(algorithm, str):
        raise TokenRefusedError(ALGORITHM)
    if not isinstance(issuer, str):
        raise TokenRefusedError(ISSUER)
    return UnverifiedToken(text=text, issuer=issuer, algorithm=algorithm, key_id=header.get("kid"))


async def verify(token: UnverifiedToken, issuer: Issuer, *, keys: KeyCache) -> Mapping[str, Any]:
    """The claims of the token, proven to be the issuer's and meant for here.

    Raises TokenRefusedError, or IssuerAwayError when its key cannot be had.
    """
    if token.algorithm not in issuer.algorithms:
        raise TokenRefusedError(ALGORITHM)
    key = await keys.find(token.key_id, token.algorithm)
    if key is None:
        raise TokenRefusedError(KEY)
    try:
        claims: Mapping[str, Any] = jwt.decode(
            token.text,
            key=key,
            algorithms=[token.algorithm],
            options=_OPTIONS,
            audience=issuer.audience,
            issuer=issuer.issuer,
            leeway=LEEWAY_SECONDS,
        )
    except PyJWTError as error:
        raise TokenRefusedError(_outcome_of(error)) from None
    _require_numbers(claims)
    return claims


def _require_numbers(claims: Mapping[str, Any]) -> None:
    """The library reads a digit string, or true, as a time too."""
    for name in ("exp", "nbf", "iat"):
        if name in claims and type(claims[name]) not in {int, float}:
            raise TokenRefusedError(CLAIMS)


def _outcome_of(error: PyJWTError) -> str:
    return next((outcome for kind, outcome in _OUTCOMES if isinstance(error, kind)), CLAIMS)
