"""What work costs, in a figure that other work on the machine changes least."""

import time
from collections.abc import Callable

_RUNS = 3


def cpu_seconds(work: Callable[[], object]) -> float:
    """Processor time of this process, of several runs the least."""
    return min(_once(work) for _ in range(_RUNS))


def _once(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started
