"""Keys under which a mutation happens once (docs/reference/wire.md, section "Idempotency keys")."""

import re
from datetime import timedelta
from typing import Protocol, runtime_checkable

import msgspec

from commonhold.contract.documents import MemoryDocument
from commonhold.contract.turns import ConversationTurn

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


class Remembered(msgspec.Struct, frozen=True):
    """What a mutation answered under a key, from the rows it made as they are now."""

    operation: str
    answer: MemoryDocument | ConversationTurn | int | None


@runtime_checkable
class Remembering(Protocol):
    """Answers under keys, asked for without a mutation (docs/reference/stores.md, section 12)."""

    async def recall(self, *, key: IdempotencyKey, digest: bytes) -> Remembered | None:
        """What was answered under the key; None when nothing was, or not yet.

        Another digest raises ValueError (`KEY_REUSED`). Nothing is waited for: a call that
        still runs has answered nothing.
        """
        ...
