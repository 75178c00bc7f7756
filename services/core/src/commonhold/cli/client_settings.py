"""What a verb needs to reach a service: its URL, and the token that is never on a command line."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from commonhold.cli.errors import UsageError
from commonhold.ops.settings import read_text

_TOKEN = "NEOSIAN_CLIENT_TOKEN"  # noqa: S105 - a variable's name


def read_client_token(environment: Mapping[str, str]) -> str:
    """The token of the variable or of the file that its twin names."""
    token = read_text(environment, _TOKEN)
    if not token:
        raise UsageError(f"--url needs {_TOKEN} (or {_TOKEN}_FILE) in the environment")
    return token


def check_url(url: str) -> str:
    """The URL as given; UsageError for one that is none of HTTP."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"--url must start with http:// or https://, got {url!r}")
    try:
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"--url names no port that exists, got {url!r}") from error
    return url
