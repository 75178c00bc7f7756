"""LlmProvider over `POST {base_url}/chat/completions` (docs/reference/models.md, section 2)."""

import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import aiohttp
import msgspec
from yarl import URL

from commonhold.adapters.openai.completions import (
    Completion,
    is_passing_status,
    read_completion,
    read_instance,
    spend_of,
)
from commonhold.adapters.openai.costs import Prices
from commonhold.adapters.openai.retry_after import read_retry_after
from commonhold.adapters.openai.schemas import json_schema, wire_name
from commonhold.contract.clock import Clock, SystemClock, read_clock
from commonhold.contract.language_models import Metered, Schema, require_text
from commonhold.contract.model_errors import ProviderTransportError
from commonhold.contract.text import require_encodable
from commonhold.ops.settings import Secret

DEFAULT_TIMEOUT_SECONDS = 120.0
DEFAULT_MAX_TOKENS = 8192
# Many times what the longest answer takes; a server that sends more is not sending one.
DEFAULT_ANSWER_LIMIT_BYTES = 8 * 1024 * 1024
_CONNECT_TIMEOUT_SECONDS = 10.0

_SYSTEM_CLOCK = SystemClock()
_encode = msgspec.json.encode


class OpenAiLlmProvider:
    """A model of a server that speaks chat completions, over a session it was given.

    `thinking=False` asks chat templates to leave it out; servers without templates refuse
    the field, so by default nothing is said. `strict=False` sends the schema as it is.
    """

    def __init__(
        self,
        client: aiohttp.ClientSession | None,
        *,
        base_url: str,
        model: str,
        provider: str = "openai-compatible",
        api_key: Secret | None = None,
        temperature: float = 0.0,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        thinking: bool = True,
        strict: bool = True,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        answer_limit_bytes: int = DEFAULT_ANSWER_LIMIT_BYTES,
        prices: Prices | None = None,
        clock: Clock = _SYSTEM_CLOCK,
    ) -> None:
        if not model.strip():
            raise ValueError("model must not be blank")
        if timeout_seconds <= 0:
            raise ValueError(f"timeout_seconds must be positive, got {timeout_seconds}")
        self._owns_client = client is None
        self._client = client
        self._is_closed = False
        self._url = _completions_url(base_url)
        self._headers = _headers(api_key)
        self._wire_model = model
        self._model = f"{provider}/{model}"
        self._fixed: Mapping[str, Any] = {"temperature": temperature, "max_tokens": max_tokens} | (
            {} if thinking else {"chat_template_kwargs": {"enable_thinking": False}}
        )
        self._strict = strict
        self._timeout = aiohttp.ClientTimeout(
            total=timeout_seconds, connect=min(timeout_seconds, _CONNECT_TIMEOUT_SECONDS)
        )
        self._answer_limit_bytes = answer_limit_bytes
        self._prices = prices
        self._clock = clock

    @property
    def model(self) -> str:
        return self._model

    async def close(self) -> None:
        """Close the session if it was made here; the provider makes no further call."""
        self._is_closed = True
        if self._owns_client and self._client is not None:
            await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def extract(
        self, text: str, schema: type[Schema], *, system_prompt: str | None = None
    ) -> Schema:
        metered = await self.extract_metered(text, schema, system_prompt=system_prompt)
        return metered.answer

    async def extract_metered(
        self, text: str, schema: type[Schema], *, system_prompt: str | None = None
    ) -> Metered[Schema]:
        require_text(text)
        completion = await self._complete(self._request(text, schema, system_prompt))
        spend = spend_of(completion, model=self._model, prices=self._prices)
        answer = read_instance(completion, schema, model=self._model, spend=spend)
        return Metered(answer, spend)

    def _request(self, text: str, schema: type[Schema], system_prompt: str | None) -> bytes:
        """ValueError for text with a lone surrogate, which no request can carry."""
        require_encodable(text, name="text")
        messages = [{"role": "user", "content": text}]
        if system_prompt is not None:
            require_encodable(system_prompt, name="system_prompt")
            messages.insert(0, {"role": "system", "content": system_prompt})
        response_format = {
            "type": "json_schema",
            "json_schema": {
                "name": wire_name(schema),
                "strict": self._strict,
                "schema": json_schema(schema, strict=self._strict),
            },
        }
        return _encode(
            {
                "model": self._wire_model,
                "messages": messages,
                "response_format": response_format,
                **self._fixed,
            }
        )

    async def _complete(self, request: bytes) -> Completion:
        session = self._session()
        try:
            async with session.post(
                self._url,
                data=request,
                headers=self._headers,
                timeout=self._timeout,
                # A redirect would carry the text, and the key, to an address nobody configured.
                allow_redirects=False,
            ) as response:
                return await self._read(response)
        except TimeoutError as error:
            raise self._fault("no answer in time", retryable=True) from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise self._fault("the server's certificate is not trusted", retryable=False) from error
        except (aiohttp.ClientError, ssl.SSLError, OSError) as error:
            raise self._fault(f"no answer: {type(error).__name__}", retryable=True) from error

    async def _read(self, response: aiohttp.ClientResponse) -> Completion:
        status = response.status
        if status != 200:  # noqa: PLR2004 - the one status with a completion
            raise ProviderTransportError(
                f"the server answered HTTP {status}",
                model=self._model,
                retryable=is_passing_status(status),
                status=status,
                retry_after=read_retry_after(
                    response.headers.get("Retry-After"), now=read_clock(self._clock)
                ),
            )
        return read_completion(await self._body(response), model=self._model, status=status)

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > self._answer_limit_bytes:
                response.close()
                raise ProviderTransportError(
                    f"the answer is longer than {self._answer_limit_bytes} bytes",
                    model=self._model,
                    retryable=False,
                    status=response.status,
                )
        return bytes(body)

    def _session(self) -> aiohttp.ClientSession:
        if self._is_closed:
            raise RuntimeError("the provider is closed")
        if self._client is None:
            # Here and not at construction: a session belongs to a running loop.
            self._client = aiohttp.ClientSession()
        return self._client

    def _fault(self, message: str, *, retryable: bool) -> ProviderTransportError:
        return ProviderTransportError(message, model=self._model, retryable=retryable)


def openai_compatible(*, base_url: str, model: str, **options: Any) -> OpenAiLlmProvider:
    """A provider with a session of its own, which `close()` ends; opens nothing yet."""
    return OpenAiLlmProvider(None, base_url=base_url, model=model, **options)


def _completions_url(base_url: str) -> URL:
    try:
        url = URL(base_url.rstrip("/"))
    except ValueError:
        raise ValueError("base_url must be an address like http://host:port/v1") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise ValueError("base_url must be an address like http://host:port/v1")
    if url.user is not None or url.password is not None:
        raise ValueError("base_url must not hold credentials: give api_key")
    if url.query_string or url.fragment:
        raise ValueError("base_url must end with its path")
    return url / "chat" / "completions"


def _headers(api_key: Secret | None) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if api_key is not None:
        key = api_key.reveal()
        if not key.isascii() or not key.isprintable() or key.strip() != key:
            raise ValueError("api_key must be printable ASCII")
        headers["Authorization"] = f"Bearer {key}"
    return headers
