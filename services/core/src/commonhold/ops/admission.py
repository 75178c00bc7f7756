"""How much may be in flight: a number of requests, and the bytes of large bodies.

There is never a wait: what does not fit is answered 503 at once.
"""

FREE_BYTES = 64 * 1024


class Admission:
    """The process's ceilings and what is taken of them."""

    __slots__ = ("byte_limit", "bytes_taken", "request_limit", "requests")

    def __init__(self, *, request_limit: int, byte_limit: int) -> None:
        self.request_limit = request_limit
        self.byte_limit = byte_limit
        self.requests = 0
        self.bytes_taken = 0

    @property
    def is_full(self) -> bool:
        return self.requests >= self.request_limit


class Lease:
    """What one request holds, from its body's first bytes until it is answered."""

    __slots__ = ("_admission", "_bytes", "_entered")

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._bytes = 0
        self._entered = False

    def enter(self) -> bool:
        """Take a place among the requests in flight; False when there is none."""
        if self._admission.is_full:
            return False
        self._admission.requests += 1
        self._entered = True
        return True

    def cover(self, size: int) -> bool:
        """Hold room for a body of `size` bytes in all; False when there is none.

        A body of up to 64 KiB is free.
        """
        more = size - self._bytes
        if size <= FREE_BYTES or more <= 0:
            return True
        if self._admission.bytes_taken + more > self._admission.byte_limit:
            return False
        self._admission.bytes_taken += more
        self._bytes = size
        return True

    def release(self) -> None:
        self._admission.bytes_taken -= self._bytes
        self._bytes = 0
        if self._entered:
            self._admission.requests -= 1
            self._entered = False
