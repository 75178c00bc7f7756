"""Which `Host` and `Origin` a request may name, so that no page rebinds a name to this service.

docs/reference/mcp.md, section 1.
"""

from urllib.parse import urlsplit

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
ANY = "*"


class AllowedNames:
    """The hosts and origins that are served; `*` in a list lets any pass.

    A host without a port stands for itself at every port, and so does the host of an
    origin. The loopback names are also the origins of pages on this machine.
    """

    def __init__(self, *, hosts: tuple[str, ...], origins: tuple[str, ...]) -> None:
        self._hosts = {host.lower() for host in hosts}
        self._origins = {origin.lower() for origin in origins}

    def refusal(self, *, host: str, origin: str | None) -> str | None:
        """What is wrong with the request's names, in words; None when nothing is."""
        if not _is_listed(host.lower(), self._hosts):
            return f"host {host!r}"
        if origin is not None and not self._allows_origin(origin.lower()):
            return f"origin {origin!r}"
        return None

    def _allows_origin(self, origin: str) -> bool:
        if ANY in self._origins or origin in self._origins:
            return True
        scheme, _, rest = origin.partition("://")
        return f"{scheme}://{_without_port(rest)}" in self._origins


def host_list(text: str) -> tuple[str, ...]:
    """Hosts by comma, each with or without a port; raises ValueError."""
    hosts = tuple(part.strip() for part in text.split(","))
    if not all(host == ANY or _is_host(host) for host in hosts):
        raise ValueError("must be host names or host:port, joined by commas, or *")
    return hosts


def origin_list(text: str) -> tuple[str, ...]:
    """Origins by comma, each with or without a port; raises ValueError."""
    origins = tuple(part.strip() for part in text.split(","))
    if not all(origin == ANY or _is_origin(origin) for origin in origins):
        raise ValueError("must be origins (https://host or https://host:port), by commas, or *")
    return origins


LOOPBACK_ORIGINS = tuple(
    f"{scheme}://{host}" for scheme in ("http", "https") for host in LOOPBACK_HOSTS
)


def _is_listed(host: str, allowed: set[str]) -> bool:
    return ANY in allowed or host in allowed or _without_port(host) in allowed


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def _is_host(text: str) -> bool:
    return bool(text) and not set(text) & set("/?#@ ")


def _is_origin(text: str) -> bool:
    parts = urlsplit(text)
    return parts.scheme in {"http", "https"} and text == f"{parts.scheme}://{parts.netloc}"
