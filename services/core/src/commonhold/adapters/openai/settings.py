"""The settings of the model (docs/reference/settings.md, section "Model")."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated

import msgspec

from commonhold.adapters.openai.costs import Prices
from commonhold.adapters.openai.providers import OpenAiLlmProvider, openai_compatible
from commonhold.contract.errors import ConfigurationError
from commonhold.ops.settings import Secret, Setting, any_text, one_of, seconds, whole_number

_PRICE = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,9})?")


def price(text: str) -> Decimal:
    """US dollars for a million tokens."""
    if _PRICE.fullmatch(text) is None:
        raise ValueError("must be a price in US dollars, like 0.15")
    return Decimal(text)


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which model there is and what it costs; nothing set is no model."""

    url: Annotated[
        str | None,
        Setting("COMMONHOLD_MODEL_URL", any_text, "base of an OpenAI-compatible API, with its /v1"),
    ] = None
    name: Annotated[
        str | None, Setting("COMMONHOLD_MODEL_NAME", any_text, "the model, as its server calls it")
    ] = None
    key: Annotated[
        Secret | None, Setting("COMMONHOLD_MODEL_KEY", Secret, "key that the server asks for")
    ] = None
    timeout_seconds: Annotated[
        float,
        Setting("COMMONHOLD_MODEL_TIMEOUT_SECONDS", seconds(1, 3600), "longest call"),
    ] = 120.0
    max_tokens: Annotated[
        int,
        Setting(
            "COMMONHOLD_MODEL_MAX_TOKENS",
            whole_number(1, 1_000_000),
            "longest answer; one that is cut off there is not used",
        ),
    ] = 8192
    schema: Annotated[
        str,
        Setting(
            "COMMONHOLD_MODEL_SCHEMA",
            one_of("strict", "plain"),
            "form of the JSON Schema: strict, or plain for servers that refuse it",
        ),
    ] = "strict"
    thinking: Annotated[
        str,
        Setting(
            "COMMONHOLD_MODEL_THINKING",
            one_of("default", "off"),
            "off asks the chat template to leave thinking out; some servers refuse to be asked",
        ),
    ] = "default"
    input_price: Annotated[
        Decimal | None,
        Setting("COMMONHOLD_MODEL_INPUT_USD_PER_MILLION", price, "price of a million tokens sent"),
    ] = None
    output_price: Annotated[
        Decimal | None,
        Setting(
            "COMMONHOLD_MODEL_OUTPUT_USD_PER_MILLION", price, "price of a million tokens answered"
        ),
    ] = None


def open_provider(settings: ModelSettings) -> OpenAiLlmProvider | None:
    """The model that is configured, to be closed by the caller; None when none is.

    Raises ConfigurationError, naming the variable, when one of two that go together is
    missing or an address or key cannot be used.
    """
    _together(
        ("COMMONHOLD_MODEL_URL", settings.url),
        ("COMMONHOLD_MODEL_NAME", settings.name),
    )
    _together(
        ("COMMONHOLD_MODEL_INPUT_USD_PER_MILLION", settings.input_price),
        ("COMMONHOLD_MODEL_OUTPUT_USD_PER_MILLION", settings.output_price),
    )
    url, name = settings.url, settings.name
    if url is None or name is None:
        return None
    return _checked(lambda: _provider(settings, url=url, name=name))


def _provider(settings: ModelSettings, *, url: str, name: str) -> OpenAiLlmProvider:
    return openai_compatible(
        base_url=url,
        model=name,
        api_key=settings.key,
        timeout_seconds=settings.timeout_seconds,
        max_tokens=settings.max_tokens,
        strict=settings.schema == "strict",
        thinking=settings.thinking == "default",
        prices=_prices(settings),
    )


def _prices(settings: ModelSettings) -> Prices | None:
    if settings.input_price is None or settings.output_price is None:
        return None
    return Prices(
        input_usd_per_million=settings.input_price, output_usd_per_million=settings.output_price
    )


def _together(first: tuple[str, object], second: tuple[str, object]) -> None:
    missing = [name for name, value in (first, second) if value is None]
    if len(missing) == 1:
        given = first[0] if missing[0] == second[0] else second[0]
        raise ConfigurationError(f"{missing[0]} must be set, since {given} is")


def _checked(make: Callable[[], OpenAiLlmProvider]) -> OpenAiLlmProvider:
    names = {
        "base_url": "COMMONHOLD_MODEL_URL",
        "api_key": "COMMONHOLD_MODEL_KEY",
        "model": "COMMONHOLD_MODEL_NAME",
    }
    try:
        return make()
    except ValueError as error:
        told = str(error)
        for parameter, name in names.items():
            told = re.sub(rf"\b{parameter}\b", name, told)
        raise ConfigurationError(told) from None
