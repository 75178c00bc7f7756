"""Keys under which a mutation happens once (docs/reference/wire.md, section "Idempotency keys")."""

import re
from datetime import timedelta

import msgspec

KEY_LIFETIME = timedelta(hours=24)
KEY_REUSED = "idempotency key was used for another request"

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


class IdempotencyKey(msgspec.Struct, frozen=True):
    """A key as its client sees it: two clients may use the same value.

    `client` is the actor of the token, not the token, so that a retry after a token
    was rotated still matches.
    """

    client: str
    value: str

    def __post_init__(self) -> None:
        if _KEY.fullmatch(self.value) is None:
            raise ValueError("idempotency key must be 1 to 255 visible ASCII characters")
