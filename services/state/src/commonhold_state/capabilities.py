"""The handshake: one answer a client, made at start (docs/reference/wire.md, section 2)."""

from collections.abc import Iterable, Mapping

from commonhold.ops.tokens import Client
from commonhold.wire.answers import WIRE_VERSION
from commonhold.wire.shapes import encode
from commonhold_state.backend import Backend
from commonhold_state.idempotency import ADVERTISEMENT
from commonhold_state.replies import JSON, Reply, head_of

# The product version whose wire this is, as clients of the wire compare it.
PRODUCT_VERSION = "2.0.0"


def capabilities_of(backend: Backend, clients: Iterable[Client]) -> Mapping[str, Reply]:
    """The answer to each client, by its actor."""
    head = head_of(200, "OK", JSON + (b"" if backend.guarded is None else ADVERTISEMENT))
    return {
        client.actor: Reply(200, head, encode(_capabilities(backend, client))) for client in clients
    }


def _capabilities(backend: Backend, client: Client) -> Mapping[str, object]:
    return {
        "wire_version": WIRE_VERSION,
        "neosian_version": PRODUCT_VERSION,
        "backend": backend.name,
        "supports_optimistic_concurrency": backend.documents.supports_optimistic_concurrency,
        "pageable": backend.pageable is not None,
        "erasable": backend.is_erasable,
        "client": client.actor,
    }
