"""The `Idempotency-Key` header (docs/reference/wire.md, section 14)."""

import hashlib
import re

from commonhold.contract import IdempotencyKey, Mutations
from commonhold.ops.tokens import Client
from commonhold.wire.answers import DIGEST_HEADER, KEYS_HEADER, KEYS_VERSION
from commonhold_state.backend import Backend

ADVERTISEMENT = f"{KEYS_HEADER.lower()}: {KEYS_VERSION}\r\n".encode()

_DIGEST = re.compile(r"[0-9a-f]{64}")


def guarded_view(
    backend: Backend,
    *,
    header: str,
    client: Client,
    route: str,
    raw: bytes | bytearray,
    digest: str | None,
) -> Mutations:
    """The store's mutations under the client's key.

    Raises ValueError for a header that is no key, and for a store that keeps none: a
    silent promise is worse than none. The digest is the client's own where it gives one,
    else over the bytes as they came.
    """
    key = IdempotencyKey(client=client.actor, value=header)
    if backend.guarded is None:
        raise ValueError(f"{backend.name} keeps no idempotency keys")
    if digest is not None:
        return backend.guarded.guarded(key=key, digest=given_digest(digest, name=DIGEST_HEADER))
    made = hashlib.sha256(f"{route}\n".encode())
    made.update(raw)
    return backend.guarded.guarded(key=key, digest=made.digest())


def given_digest(text: str, *, name: str) -> bytes:
    """A digest as a client spells it; ValueError for anything else."""
    if _DIGEST.fullmatch(text) is None:
        raise ValueError(f"parameter {name!r} must be 64 lower-case hex digits")
    return bytes.fromhex(text)
