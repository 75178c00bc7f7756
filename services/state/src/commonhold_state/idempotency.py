"""The `Idempotency-Key` header (docs/reference/wire.md, section 14)."""

import hashlib

from commonhold.contract import IdempotencyKey, Mutations
from commonhold.ops.tokens import Client
from commonhold_state.backend import Backend

HEADER = "Idempotency-Key"
ADVERTISEMENT = b"commonhold-idempotency: 1\r\n"


def guarded_view(
    backend: Backend, *, header: str, client: Client, route: str, raw: bytes | bytearray
) -> Mutations:
    """The store's mutations under the client's key.

    Raises ValueError for a header that is no key, and for a store that keeps none: a
    silent promise is worse than none. The digest is over the bytes as they came.
    """
    key = IdempotencyKey(client=client.actor, value=header)
    if backend.guarded is None:
        raise ValueError(f"{backend.name} keeps no idempotency keys")
    digest = hashlib.sha256(f"{route}\n".encode())
    digest.update(raw)
    return backend.guarded.guarded(key=key, digest=digest.digest())
