"""How many connections of clients a process can have open."""

import resource

MOST_CONNECTIONS = 2048
# Descriptors for the pool, the listeners and the log.
RESERVED_DESCRIPTORS = 128


def connection_bound() -> int:
    """As many connections as the process has descriptors for, within reason."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(16, min(MOST_CONNECTIONS, soft - RESERVED_DESCRIPTORS))
