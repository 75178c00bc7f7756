"""A small synchronous client of wire 6 over the standard library, for commands of the shell.

It repeats what is safe to repeat (docs/reference/wire.md, section 2): every mutation goes
under an idempotency key of its own.
"""

import http.client
import secrets
import ssl
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from commonhold.cli.client_settings import check_url
from commonhold.cli.errors import CommandError
from commonhold.wire.answers import KEY_HEADER, WIRE_VERSION, Handshake, RefusalAnswer

_TIMEOUT_SECONDS = 60.0
_ATTEMPTS = 5
_LONGEST_PAUSE_SECONDS = 5.0
_REFUSED = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

Answer = TypeVar("Answer")


class WireRefusalError(CommandError):
    """The service understood and declined; `refusal_code` and `refusal_details` say why."""

    def __init__(self, *, route: str, code: str, message: str, details: Mapping[str, Any]) -> None:
        super().__init__(f"{route} was refused: [{code}] {message}")
        self.refusal_code = code
        self.refusal_message = message
        self.refusal_details = details


class WireTransportError(CommandError):
    """No answer, or none that wire 6 knows."""


class WireUnreachableError(WireTransportError):
    """Nothing listens at the URL."""

    def __init__(self, *, url: str) -> None:
        super().__init__(f"nothing answers at {url}: start it with `make run`")


class WireClient:
    """One connection to one service under one token; opened by the first call.

    Raises UsageError for a URL that is none of HTTP.
    """

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self._prefix = urlsplit(self.url).path
        self._headers = {"Authorization": f"Bearer {token}"}
        self._connection = _connection(url)

    def capabilities(self) -> Handshake:
        """Shake hands; raises CommandError when the service speaks another wire."""
        answer = self._answer("GET", "capabilities", None, {})
        found = _decoded("capabilities", answer, Handshake)
        if found.wire_version != WIRE_VERSION:
            raise WireTransportError(
                f"{self.url} speaks wire {found.wire_version}, this program wire {WIRE_VERSION}"
            )
        return found

    def read(self, route: str, parameters: Mapping[str, Any], answer: type[Answer]) -> Answer:
        """Call a route that changes nothing."""
        return _decoded(route, self.raw_read(route, parameters), answer)

    def raw_read(self, route: str, parameters: Mapping[str, Any]) -> bytes:
        """As `read`, the answer as it came."""
        return self._answer("POST", route, msgspec.json.encode(parameters), {})

    def mutate(self, route: str, parameters: Mapping[str, Any], answer: type[Answer]) -> Answer:
        """Call a route that changes something, once however often it has to be sent."""
        key = {KEY_HEADER: secrets.token_hex(16)}
        body = self._answer("POST", route, msgspec.json.encode(parameters), key)
        return _decoded(route, body, answer)

    def close(self) -> None:
        self._connection.close()

    def _answer(
        self, method: str, route: str, body: bytes | None, headers: Mapping[str, str]
    ) -> bytes:
        for attempt in range(1, _ATTEMPTS + 1):
            last = attempt == _ATTEMPTS
            try:
                status, pause, answer = self._exchange(method, route, body, headers)
            except ConnectionRefusedError as error:
                raise WireUnreachableError(url=self.url) from error
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if last:
                    reason = str(error) or type(error).__name__
                    raise WireTransportError(f"{self.url} does not answer: {reason}") from error
                continue
            if status == HTTPStatus.OK:
                return answer
            if status != HTTPStatus.SERVICE_UNAVAILABLE or last:
                raise _failure(self.url, route, status, answer)
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _exchange(
        self, method: str, route: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, float, bytes]:
        self._connection.request(
            method, f"{self._prefix}/v1/{route}", body, {**self._headers, **headers}
        )
        response = self._connection.getresponse()
        return response.status, _pause_seconds(response.getheader("Retry-After")), response.read()


def _connection(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(check_url(url))
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS)
    context = ssl.create_default_context()
    return http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_SECONDS, context=context)


def _pause_seconds(retry_after: str | None) -> float:
    seconds = int(retry_after) if retry_after is not None and retry_after.isdecimal() else 1
    return min(float(seconds), _LONGEST_PAUSE_SECONDS)


def _decoded(route: str, body: bytes, answer: type[Answer]) -> Answer:
    try:
        return msgspec.json.decode(body, type=answer)
    except msgspec.MsgspecError as error:
        raise WireTransportError(f"the answer of {route} is not of wire 6: {error}") from error


def _failure(url: str, route: str, status: int, body: bytes) -> CommandError:
    if status == HTTPStatus.UNAUTHORIZED:
        return WireTransportError(f"{url} does not accept the token")
    if status in _REFUSED:
        refusal = _decoded(route, body, RefusalAnswer).error
        return WireRefusalError(
            route=route, code=refusal.code, message=refusal.message, details=refusal.details
        )
    return WireTransportError(f"{url} answered {route} with status {status}")
