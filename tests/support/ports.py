"""Free ports of loopback."""

import socket


def free_port() -> int:
    """Return a port that nothing listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
