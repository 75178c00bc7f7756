"""The change feed's routes on a store without one (docs/reference/wire.md, section 12)."""

from commonhold_state.calls import Call


async def missing(call: Call) -> bytes:
    """The refusal that tells a client of the feed apart from a mistyped path."""
    raise call.backend.lacks("a change feed")
