"""Free ports of loopback."""

import secrets
import socket

# Below the ports that systems hand to connections, so that none takes one before its listener does.
_LOWEST, _HIGHEST = 10_240, 29_999
_given: set[int] = set()


def free_port() -> int:
    """Return a port that nothing listens on now, and never the same twice."""
    while True:
        port = _LOWEST + secrets.randbelow(_HIGHEST - _LOWEST + 1)
        if port not in _given and _is_free(port):
            _given.add(port)
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
