"""One request and its answer, over connections that are kept.

Whatever a server does ends here in bytes of a good answer or in an error with a name.
"""

import io
import ssl
from collections.abc import Mapping

import aiohttp
import msgspec
from yarl import URL

from commonhold.adapters.remote.errors import ServiceAwayError, UnexpectedAnswerError
from commonhold.adapters.remote.options import RemoteOptions
from commonhold.contract.errors import CommonholdError, ConfigurationError
from commonhold.ops.settings import Secret, service_url
from commonhold.wire.answers import RefusalAnswer
from commonhold.wire.refusals import error_of

_OK = 200
_UNAUTHORIZED = 401
_REFUSED = frozenset({400, 403, 413})
_REDIRECTS = range(300, 400)
# A service that is full, draining or away, or a proxy that says so of it.
_PASSING = frozenset({408, 429, 502, 503, 504})
# A second less than services keep idle connections, so that few are found closed.
_KEEP_SECONDS = 60.0
_PIECE_BYTES = 1024 * 1024
_NO_HEADERS: Mapping[str, str] = {}

_refusals = msgspec.json.Decoder(RefusalAnswer)


class Answer(msgspec.Struct, frozen=True):
    """A good answer, and the headers that came with it."""

    body: bytes | bytearray
    headers: Mapping[str, str]


class Exchanges:
    """The connections to one service under one token. They are opened as they are needed.

    Raises ConfigurationError for a URL that is none of HTTP and a token that no header can
    carry.
    """

    def __init__(self, url: str, token: Secret, *, options: RemoteOptions) -> None:
        try:
            self.url = service_url(url)
        except ValueError as error:
            raise ConfigurationError(f"the URL of a state service {error}") from None
        self._base = URL(f"{self.url}/v1/")
        self._headers = _headers(token)
        self._options = options
        self._timeout = _timeout(options.timeout_seconds, options)
        self._patience = _timeout(options.patient_seconds, options)
        self._targets: dict[str, URL] = {}
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False

    async def close(self) -> None:
        self._is_closed = True
        if self._session is not None:
            await self._session.close()

    async def get(self, route: str) -> Answer:
        return await self._exchange("GET", route, None, _NO_HEADERS, self._timeout)

    async def post(
        self,
        route: str,
        body: bytes,
        *,
        headers: Mapping[str, str] = _NO_HEADERS,
        is_patient: bool = False,
    ) -> Answer:
        """Raises what the service refused with, or why there was no answer of the wire."""
        timeout = self._patience if is_patient else self._timeout
        return await self._exchange("POST", route, body, headers, timeout)

    def unexpected(
        self, route: str, fault: str, *, status: int | None = None
    ) -> UnexpectedAnswerError:
        return UnexpectedAnswerError(url=self.url, route=route, fault=fault, status=status)

    def late(self, route: str) -> ServiceAwayError:
        # It had its time: asking again would only double the wait.
        return self._away(f"gave no answer of {route} in time", repeats=False)

    async def _exchange(
        self,
        method: str,
        route: str,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's own, which it also keeps
    ) -> Answer:
        try:
            async with self._opened().request(
                method,
                self._target(route),
                data=_payload(body),
                headers=headers,
                timeout=timeout,
                # A redirect would carry the token to an address that nobody configured.
                allow_redirects=False,
            ) as response:
                return await self._judge(route, response)
        except aiohttp.ConnectionTimeoutError as error:
            raise self._away("takes no connection in time") from error
        except TimeoutError as error:
            raise self.late(route) from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise ConfigurationError(f"{self.url}: its certificate is not trusted") from error
        except aiohttp.ClientConnectorSSLError as error:
            raise ConfigurationError(f"{self.url} speaks no TLS that fits") from error
        except aiohttp.ClientResponseError as error:
            raise self.unexpected(route, "what is no HTTP") from error
        except aiohttp.ClientConnectorError as error:
            raise self._away(f"cannot be reached: {error.strerror}") from error
        except (aiohttp.ClientError, ssl.SSLError, OSError) as error:
            raise self._away(f"broke off its answer of {route}") from error

    async def _judge(self, route: str, response: aiohttp.ClientResponse) -> Answer:
        status = response.status
        if status == _OK:
            return Answer(await self._body(route, response), response.headers)
        if status in _REFUSED:
            raise self._refusal(route, response, await self._body(route, response))
        if status == _UNAUTHORIZED:
            raise ConfigurationError(f"{self.url} does not accept the token")
        if status in _PASSING:
            raise self._away(f"answered {status}", retry_after=self._pause(response))
        if status in _REDIRECTS:
            raise self.unexpected(
                route, f"a redirect ({status}), which is not followed", status=status
            )
        raise self.unexpected(route, f"status {status}", status=status)

    def _refusal(
        self, route: str, response: aiohttp.ClientResponse, body: bytes | bytearray
    ) -> CommonholdError | ValueError:
        try:
            return error_of(_refusals.decode(body).error)
        except (msgspec.MsgspecError, RecursionError):
            status = response.status
            fault = f"status {status} and no refusal of the wire ({response.content_type})"
            return self.unexpected(route, fault, status=status)

    async def _body(self, route: str, response: aiohttp.ClientResponse) -> bytes | bytearray:
        """The whole body, counted as it comes: its length is only what the server says."""
        content, limit = response.content, self._options.answer_limit_bytes
        first = await content.readany()
        if content.at_eof() and len(first) <= limit:
            return first
        body = bytearray(first)
        while len(body) <= limit:
            piece = await content.readany()
            if not piece:
                return body
            body += piece
        response.close()
        raise self.unexpected(route, f"more than {limit} bytes", status=response.status)

    def _pause(self, response: aiohttp.ClientResponse) -> float | None:
        asked = response.headers.get("Retry-After", "")
        if not asked.isdecimal():
            return None
        return min(float(asked), self._options.longest_pause_seconds)

    def _away(
        self, what: str, *, repeats: bool = True, retry_after: float | None = None
    ) -> ServiceAwayError:
        return ServiceAwayError(f"{self.url} {what}", repeats=repeats, retry_after=retry_after)

    def _target(self, route: str) -> URL:
        target = self._targets.get(route)
        if target is None:
            target = self._targets[route] = self._base.join(URL(route))
        return target

    def _opened(self) -> aiohttp.ClientSession:
        if self._is_closed:
            raise RuntimeError("the store is closed")
        if self._session is None:
            # Here and not at construction: a session belongs to a running loop.
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                connector=aiohttp.TCPConnector(
                    limit=self._options.connections, keepalive_timeout=_KEEP_SECONDS
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    """A large body as a file, which aiohttp sends piece by piece."""
    return body if body is None or len(body) <= _PIECE_BYTES else io.BytesIO(body)


def _timeout(seconds: float, options: RemoteOptions) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, options.connect_seconds))


def _headers(token: Secret) -> Mapping[str, str]:
    text = token.reveal()
    if not text.isprintable() or text.strip() != text or not text:
        raise ConfigurationError("the token of a state service must be printable text")
    return {
        "Authorization": f"Bearer {text}",
        "Accept": "application/json",
        # What is compressed has no bound that can be seen.
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
    }
