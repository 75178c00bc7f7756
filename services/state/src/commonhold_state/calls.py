"""One request, past the gates, as a handler sees it."""

from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

from commonhold.contract import Mutations
from commonhold.contract.text import require_storable
from commonhold.ops.tokens import Client
from commonhold.wire.parameters import optional_text
from commonhold_state.backend import Backend

T = TypeVar("T")


class Call:
    """The decoded body, who sent it, and the store.

    `guarded` has the mutations under the request's idempotency key, when it sent one.
    `has_nul` says that some string of the body holds U+0000: whatever will be stored must
    then be looked through.
    """

    __slots__ = ("backend", "body", "client", "guarded", "has_nul")

    def __init__(
        self,
        body: Mapping[str, Any],
        *,
        client: Client,
        backend: Backend,
        guarded: Mutations | None = None,
        has_nul: bool = False,
    ) -> None:
        self.body = body
        self.client = client
        self.backend = backend
        self.guarded = guarded
        self.has_nul = has_nul

    def recorded_actor(self) -> str:
        """The actor to store: the token's client, then the body's `actor` if any."""
        actor = optional_text(self.body, "actor")
        if self.has_nul and actor is not None:
            require_storable(actor, name="actor")
        return self.client.attribute(actor)

    def measure(self, operation: str, call: Awaitable[T]) -> Awaitable[T]:
        return self.backend.measure(operation, call)
