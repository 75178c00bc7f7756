"""Calls of routes: parameters to bytes, bytes to records, and what is asked twice.

Reads are repeated. A mutation is repeated under an idempotency key and never without one
(docs/reference/wire.md, section 14).
"""

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from commonhold.adapters.remote.errors import ServiceAwayError, UnexpectedAnswerError
from commonhold.adapters.remote.exchanges import Answer, Exchanges
from commonhold.adapters.remote.options import RemoteOptions
from commonhold.adapters.resilience.retries import RetryPolicy, with_retry
from commonhold.contract.errors import ConfigurationError
from commonhold.contract.model_errors import RetryExhausted
from commonhold.ops.settings import Secret
from commonhold.wire.answers import (
    BODY_LIMIT_BYTES,
    KEY_HEADER,
    KEYS_HEADER,
    KEYS_VERSION,
    WIRE_VERSION,
    Handshake,
)
from commonhold.wire.shapes import encode

T = TypeVar("T")


class _Version(msgspec.Struct, frozen=True):
    """All that a handshake of another wire is asked for."""

    wire_version: int


_versions = msgspec.json.Decoder(_Version)
_handshakes = msgspec.json.Decoder(Handshake)


class WireCaller:
    """One service, called under one token. `keeps_keys` is what its handshake said."""

    def __init__(self, url: str, token: Secret, *, options: RemoteOptions) -> None:
        self._exchanges = Exchanges(url, token, options=options)
        self._options = options
        self._repeated = with_retry(
            _is_worth_repeating,
            RetryPolicy(
                max_retries=options.retries,
                initial_delay=options.pause_seconds,
                max_delay=options.longest_pause_seconds,
            ),
        )(self._exchanges.post)
        self.keeps_keys = False

    @property
    def url(self) -> str:
        return self._exchanges.url

    async def close(self) -> None:
        await self._exchanges.close()

    async def shake_hands(self) -> Handshake:
        """What the service is; ConfigurationError when it speaks another wire."""
        answer = await self._exchanges.get("capabilities")
        version = self._decoded("capabilities", answer, _versions).wire_version
        if version != WIRE_VERSION:
            raise ConfigurationError(
                f"{self.url} speaks wire {version}, this release wire {WIRE_VERSION}"
            )
        self.keeps_keys = answer.headers.get(KEYS_HEADER) == KEYS_VERSION
        return self._decoded("capabilities", answer, _handshakes)

    async def read(
        self, route: str, parameters: Mapping[str, Any], answers: msgspec.json.Decoder[T]
    ) -> T:
        """Call a route that changes nothing."""
        return self._decoded(route, await self._repeat(route, encoded(parameters)), answers)

    async def mutate(
        self,
        route: str,
        parameters: Mapping[str, Any],
        answers: msgspec.json.Decoder[T],
        *,
        headers: Mapping[str, str] | None = None,
        is_patient: bool = False,
    ) -> T:
        """Call a route that changes something; `headers` have its key where it has one.

        Without them the call gets a key of its own, if it may have to be repeated.
        """
        body = encoded(parameters)
        if headers is None and self.keeps_keys and self._options.retries:
            headers = {KEY_HEADER: secrets.token_hex(16)}
        if headers is None:
            answer = await self._exchanges.post(route, body, is_patient=is_patient)
        else:
            answer = await self._repeat(route, body, headers=headers, is_patient=is_patient)
        return self._decoded(route, answer, answers)

    async def _repeat(
        self,
        route: str,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        is_patient: bool = False,
    ) -> Answer:
        """One time for all attempts and the pauses between them."""
        options = self._options
        seconds = options.patient_seconds if is_patient else options.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._repeated(
                    route, body, headers=headers or {}, is_patient=is_patient
                )
        except TimeoutError as error:
            raise self._exchanges.late(route) from error
        except RetryExhausted as error:
            raise error.__cause__ or error from None

    def unexpected(self, route: str, fault: str) -> UnexpectedAnswerError:
        return self._exchanges.unexpected(route, fault, status=200)

    def _decoded(self, route: str, answer: Answer, answers: msgspec.json.Decoder[T]) -> T:
        try:
            return answers.decode(answer.body)
        except (msgspec.MsgspecError, RecursionError):
            kind = answer.headers.get("Content-Type", "no content type")
            # Not the parser's words: they may quote the answer.
            fault = f"what is no answer of wire {WIRE_VERSION} ({kind})"
            raise self.unexpected(route, fault) from None


def encoded(parameters: Mapping[str, Any]) -> bytes:
    """A request's body; ValueError, by the parameter's name, for what no JSON can carry."""
    try:
        body = encode(parameters)
    except (UnicodeEncodeError, RecursionError):
        for name, value in parameters.items():
            _require_encodable(value, name=name)
        raise
    if len(body) > BODY_LIMIT_BYTES:
        raise ValueError(f"request body exceeds {BODY_LIMIT_BYTES} bytes")
    return body


def _require_encodable(value: Any, *, name: str) -> None:
    try:
        encode(value)
    except UnicodeEncodeError:
        raise ValueError(f"parameter {name!r} must not contain a lone surrogate") from None
    except RecursionError:
        raise ValueError(f"parameter {name!r} is nested too deeply") from None


def _is_worth_repeating(error: Exception) -> bool:
    return isinstance(error, ServiceAwayError) and error.repeats
