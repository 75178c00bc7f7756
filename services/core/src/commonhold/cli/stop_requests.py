"""Signals as something to wait for: a request to stop, or news of a child.

Handlers only note what happened, so nothing is interrupted half way: the owner looks at
`requested` where it can leave in order.
"""

import contextlib
import select
import signal
import socket
from types import FrameType, TracebackType
from typing import Self

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WAKING = (*_STOPPING, signal.SIGCHLD)


class StopRequests:
    """In force inside its block, in the main thread; the handlers before it come back after."""

    def __init__(self) -> None:
        self.requested = False
        self._reader, self._writer = socket.socketpair()
        self._leave = contextlib.ExitStack()

    def wait(self, timeout_seconds: float) -> None:
        """Return at once on a signal of ours or after the timeout."""
        ready, _, _ = select.select([self._reader], [], [], timeout_seconds)
        if ready:
            with contextlib.suppress(BlockingIOError):
                while self._reader.recv(512):
                    pass

    def __enter__(self) -> Self:
        for end in (self._reader, self._writer):
            end.settimeout(0)
            self._leave.callback(end.close)
        before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._leave.callback(signal.set_wakeup_fd, before)
        for number in _WAKING:
            # A hangup that nohup ignores stays ignored. SIGINT does not: a script's background
            # jobs start with it ignored, and must still be stoppable by it.
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                self._leave.callback(signal.signal, number, signal.signal(number, self._note))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave.close()

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if number in _STOPPING:
            self.requested = True
