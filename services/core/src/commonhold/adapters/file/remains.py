"""What a change takes the names of, kept until its answer is out.

A file system gives back the space of a file when nothing holds it any more, and takes about as
long for it as for a sync. Nobody who waits for a change needs to wait for that.
"""

import os

# The others are given back while the change is made: a process has few descriptors.
_MOST_HELD = 16
# A link is none of ours, and a pipe would never open.
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Remains:
    """Descriptors of files without names, of one call."""

    def __init__(self) -> None:
        self._held: list[int] = []

    def hold(self, path: str) -> None:
        """Keep what has this name now, if that can be done."""
        if len(self._held) >= _MOST_HELD:
            return
        try:
            self._held.append(os.open(path, os.O_RDONLY | _FLAGS))
        except OSError:
            return

    def let_go(self) -> None:
        while self._held:
            os.close(self._held.pop())
