"""The addresses an operator gives: of the issuers, and of this service as its clients know it."""

import re
from urllib.parse import urlsplit

MCP = "/mcp"
# What no URL holds: it could end the header or the line that the address is written in.
_UNSAFE = re.compile(r'[^!-~]|["\\]')
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def check_url(text: str) -> str:
    """An address without query and fragment, safe from eavesdroppers; raises ValueError."""
    try:
        parts = urlsplit(text)
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("must be a URL") from None
    if parts.scheme != "https" and not (parts.scheme == "http" and host in LOOPBACK):
        raise ValueError("must be an https:// URL, or http:// to this machine")
    if not host or parts.username is not None or _UNSAFE.search(text):
        raise ValueError("must be a URL with a host and no user")
    if "?" in text or "#" in text:
        raise ValueError("must be a URL without query and fragment")
    return text


def resource_url(text: str) -> str:
    """The public address of `/mcp`, as clients write it; raises ValueError."""
    check_url(text)
    if not text.endswith(MCP):
        raise ValueError(f"must end with {MCP}")
    return text
