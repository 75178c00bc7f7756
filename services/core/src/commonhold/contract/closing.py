"""How a component that may own a connection is let go of (docs/reference/cache.md, section 5)."""

from types import TracebackType
from typing import Protocol, Self, runtime_checkable


@runtime_checkable
class AsyncClosable(Protocol):
    """`close()` releases what the object made itself, and nothing it was given.

    It may be called twice. The object is its own context manager; leaving the block
    closes it and lets every exception through, a cancellation included.
    """

    async def close(self) -> None: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
