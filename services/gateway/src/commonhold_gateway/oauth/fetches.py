"""What is asked of an issuer over HTTP: its metadata and its keys, within bounds.

The only home of the HTTP client. Redirects are not followed, and nothing that a token
says is ever an address.
"""

from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from commonhold_gateway.oauth.addresses import check_url

FETCH_SECONDS = 5.0
LIMIT_BYTES = 256 * 1024


async def fetch_key_set(issuer: str, *, jwks_url: str | None) -> Any:
    """The issuer's JWK set, decoded; its address is discovered unless it is given.

    Raises OSError or ValueError that says what went wrong, within `FETCH_SECONDS`.
    """
    timeout = aiohttp.ClientTimeout(total=FETCH_SECONDS)
    # A compressed answer could be of any size.
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    try:
        async with aiohttp.ClientSession(
            timeout=timeout, headers=headers, auto_decompress=False
        ) as session:
            return await _get(session, jwks_url or await _discover(session, issuer))
    except TimeoutError:
        raise OSError(f"no answer within {FETCH_SECONDS:g} seconds") from None
    except aiohttp.ClientError as error:
        raise OSError(str(error)) from error


def discovery_urls(issuer: str) -> tuple[str, str]:
    """Where an issuer's metadata are: RFC 8414, section 3.1, then OpenID Connect Discovery."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    origin = f"{parts.scheme}://{parts.netloc}"
    return (
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}{path}/.well-known/openid-configuration",
    )


async def _discover(session: aiohttp.ClientSession, issuer: str) -> str:
    problems = []
    for url in discovery_urls(issuer):
        try:
            metadata = await _get(session, url)
        except ValueError as error:
            problems.append(str(error))
            continue
        return _keys_of(metadata, issuer)
    raise ValueError("; ".join(problems))


def _keys_of(metadata: Any, issuer: str) -> str:
    if not isinstance(metadata, dict) or metadata.get("issuer") != issuer:
        raise ValueError("the metadata are another issuer's")
    url = metadata.get("jwks_uri")
    if not isinstance(url, str):
        raise ValueError("the metadata name no jwks_uri")
    return check_url(url)


async def _get(session: aiohttp.ClientSession, url: str) -> Any:
    async with session.get(url, allow_redirects=False) as response:
        if response.status != 200:  # noqa: PLR2004 - the one status with a document
            raise ValueError(f"{url} answered {response.status}")
        body = await _read(response)
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, ValueError):
        raise ValueError(f"{url} answered no JSON") from None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > LIMIT_BYTES:
            raise ValueError(f"{response.url} answered more than {LIMIT_BYTES} bytes")
    return bytes(body)
