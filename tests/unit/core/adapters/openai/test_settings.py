"""The model's settings (docs/reference/settings.md, section "Model")."""

from decimal import Decimal

import pytest

from commonhold.adapters.openai import ModelSettings, OpenAiLlmProvider, Prices, open_provider
from commonhold.contract.errors import ConfigurationError
from commonhold.ops.settings import read_settings

URL = {"COMMONHOLD_MODEL_URL": "http://models.internal:8080/v1"}
NAME = {"COMMONHOLD_MODEL_NAME": "tiny-1"}
INPUT = {"COMMONHOLD_MODEL_INPUT_USD_PER_MILLION": "0.15"}
OUTPUT = {"COMMONHOLD_MODEL_OUTPUT_USD_PER_MILLION": "0.6"}


def _open(environ: dict[str, str]) -> OpenAiLlmProvider | None:
    return open_provider(read_settings(ModelSettings, environ))


def test_nothing_set_is_no_model() -> None:
    assert _open({}) is None


async def test_what_is_set_reaches_the_provider() -> None:
    provider = _open(
        URL
        | NAME
        | INPUT
        | OUTPUT
        | {
            "COMMONHOLD_MODEL_KEY": "sk-1",
            "COMMONHOLD_MODEL_TIMEOUT_SECONDS": "7.5",
            "COMMONHOLD_MODEL_MAX_TOKENS": "99",
            "COMMONHOLD_MODEL_SCHEMA": "plain",
            "COMMONHOLD_MODEL_THINKING": "off",
        }
    )
    assert provider is not None
    assert provider.model == "openai-compatible/tiny-1"
    assert str(provider._url) == "http://models.internal:8080/v1/chat/completions"
    assert provider._headers["Authorization"] == "Bearer sk-1"
    assert (provider._timeout.total, provider._timeout.connect) == (7.5, 7.5)
    assert provider._strict is False
    assert provider._fixed["max_tokens"] == 99
    assert provider._fixed["chat_template_kwargs"] == {"enable_thinking": False}
    assert provider._prices == Prices(
        input_usd_per_million=Decimal("0.15"), output_usd_per_million=Decimal("0.6")
    )


@pytest.mark.parametrize(
    ("environ", "complaint"),
    [
        (URL, "COMMONHOLD_MODEL_NAME must be set, since COMMONHOLD_MODEL_URL is"),
        (NAME, "COMMONHOLD_MODEL_URL must be set, since COMMONHOLD_MODEL_NAME is"),
        (URL | NAME | INPUT, "COMMONHOLD_MODEL_OUTPUT_USD_PER_MILLION must be set"),
        (URL | NAME | OUTPUT, "COMMONHOLD_MODEL_INPUT_USD_PER_MILLION must be set"),
        (
            NAME | {"COMMONHOLD_MODEL_URL": "models.internal"},
            "COMMONHOLD_MODEL_URL must be an address",
        ),
        (
            NAME | {"COMMONHOLD_MODEL_URL": "http://a:b@host/v1"},
            "COMMONHOLD_MODEL_URL must not hold credentials: give COMMONHOLD_MODEL_KEY",
        ),
        (
            URL | NAME | {"COMMONHOLD_MODEL_KEY": "a\nb"},
            "COMMONHOLD_MODEL_KEY must be printable ASCII",
        ),
        ({"COMMONHOLD_MODEL_INPUT_USD_PER_MILLION": "free"}, "must be a price in US dollars"),
        ({"COMMONHOLD_MODEL_INPUT_USD_PER_MILLION": "NaN"}, "must be a price in US dollars"),
        ({"COMMONHOLD_MODEL_SCHEMA": "loose"}, "COMMONHOLD_MODEL_SCHEMA must be one of"),
        ({"COMMONHOLD_MODEL_TIMEOUT_SECONDS": "0"}, "must be a number of seconds"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(environ: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _open(environ)
    assert complaint in str(refused.value)


def test_the_key_never_prints() -> None:
    settings = read_settings(ModelSettings, {"COMMONHOLD_MODEL_KEY": "sk-1"})
    assert "sk-1" not in repr(settings)
