"""The service under test, asked in plain HTTP: nothing here is shared with a store or a server."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self

import aiohttp
import msgspec

from commonhold.contract.errors import CommonholdError

WIRE_VERSION = 6
OK = 200
UNAUTHORIZED = 401
FORBIDDEN = 403
_CONNECTIONS = 16
_TIMEOUT_SECONDS = 60.0


class ServiceUnusableError(CommonholdError):
    """The kit cannot begin: nothing answers, another wire, or a token that is not enough."""


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers.items() if key.lower() == name), None)

    def decoded(self) -> Any:
        return json.loads(self.body)


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What the handshake says, and whether keys are kept."""

    wire_version: int
    client: str
    backend: str
    pageable: bool
    erasable: bool
    keeps_keys: bool = False


class WireService:
    """One service under one token, inside its block; connections are kept and reused.

    Entering shakes hands and raises ServiceUnusableError where that fails.
    """

    capabilities: Capabilities

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_CONNECTIONS),
            timeout=aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS),
        )
        try:
            self.capabilities = await self._shake_hands()
            await self._require_reach()
        except BaseException:
            await self._session.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._session is not None
        await self._session.close()

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        authorization: str | None = "",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One exchange; `authorization` empty is the right one, None is none."""
        async with self._request(method, path, body, authorization, headers or {}) as answer:
            return Answer(answer.status, dict(answer.headers), await answer.read())

    async def announce(
        self,
        method: str,
        path: str,
        *,
        pieces: Sequence[bytes] = (b" ",),
        length: int | None = None,
        authorization: str | None = "",
    ) -> Answer:
        """As `ask`, of a body of which no more than the pieces is sent before the answer.

        `length` is what the request says of it; without one it comes in chunks.
        """
        answered = asyncio.Event()

        async def body() -> AsyncIterator[bytes]:
            for piece in pieces:
                yield piece
            await answered.wait()

        said = {} if length is None else {"Content-Length": str(length)}
        async with self._request(method, path, body(), authorization, said) as answer:
            try:
                return Answer(answer.status, dict(answer.headers), await answer.read())
            finally:
                answered.set()

    def _request(
        self,
        method: str,
        path: str,
        body: bytes | AsyncIterator[bytes] | None,
        authorization: str | None,
        headers: Mapping[str, str],
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        assert self._session is not None
        bearer = f"Bearer {self._token}" if authorization == "" else authorization
        sent = {} if bearer is None else {"Authorization": bearer}
        return self._session.request(
            method, f"{self.url}{path}", data=body, headers={**sent, **headers}
        )

    async def _shake_hands(self) -> Capabilities:
        answer = await self._first_answer("GET", "/v1/capabilities")
        if answer.status == UNAUTHORIZED:
            raise ServiceUnusableError(f"{self.url} does not accept the token")
        try:
            found = msgspec.json.decode(answer.body, type=Capabilities)
        except (msgspec.MsgspecError, RecursionError) as error:
            message = f"the capabilities of {self.url} are not of wire 6: {error}"
            raise ServiceUnusableError(message) from error
        if found.wire_version != WIRE_VERSION:
            raise ServiceUnusableError(
                f"{self.url} speaks wire {found.wire_version}, this kit wire {WIRE_VERSION}"
            )
        keeps_keys = answer.header("commonhold-idempotency") == "1"
        return msgspec.structs.replace(found, keeps_keys=keeps_keys)

    async def _require_reach(self) -> None:
        """A search without terms: refused of any token, and of a constrained one for its reach."""
        route = "/v1/conversation/search_turns"
        answer = await self._first_answer("POST", route, b'{"query":""}')
        if answer.status == FORBIDDEN:
            raise ServiceUnusableError(
                f"the kit needs a token that reaches the whole store of {self.url}; this one, of"
                f" {self.capabilities.client}, is constrained"
            )

    async def _first_answer(self, method: str, path: str, body: bytes | None = None) -> Answer:
        try:
            return await self.ask(method, path, body)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            reason = str(error) or type(error).__name__
            raise ServiceUnusableError(f"{self.url} does not answer: {reason}") from error
