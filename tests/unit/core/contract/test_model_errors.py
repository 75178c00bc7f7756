"""The errors of model calls and the shapes of the ports (docs/reference/models.md, section 4)."""

from typing import Any

import pytest

from commonhold.contract import CommonholdError
from commonhold.contract.caches import AtomicHitWindow, HitWindow, KeyValueCache
from commonhold.contract.closing import AsyncClosable
from commonhold.contract.language_models import LlmProvider, MeteredLlmProvider
from commonhold.contract.model_errors import (
    CircuitOpen,
    EmptyCompletionError,
    KnowledgeError,
    LlmProviderError,
    MalformedCompletionError,
    ProviderTransportError,
    RateLimitExceeded,
    RefusedCompletionError,
    RetryExhausted,
    TruncatedCompletionError,
    UnstructuredCompletionError,
)
from tests.support.markdown import reference, section, tables

BUILT: list[tuple[KnowledgeError, dict[str, Any]]] = [
    (LlmProviderError("m", model="p/m"), {"model": "p/m", "spend": None}),
    (EmptyCompletionError(model="p/m", finish_reason="stop"), {"finish_reason": "stop"}),
    (TruncatedCompletionError(model="p/m"), {"finish_reason": "length"}),
    (RefusedCompletionError(model="p/m"), {"model": "p/m"}),
    (
        MalformedCompletionError(model="p/m", schema="S", cause="bad"),
        {"schema": "S", "cause": "bad"},
    ),
    (
        UnstructuredCompletionError(model="p/m", schema="S", content="prose"),
        {"schema": "S", "content": "prose", "cause": "not a JSON object"},
    ),
    (
        ProviderTransportError("m", model="p/m", retryable=True, status=503, retry_after=2.0),
        {"retryable": True, "status": 503, "retry_after": 2.0},
    ),
    (RateLimitExceeded("m", retry_after=1.5), {"retry_after": 1.5, "retryable": True}),
    (CircuitOpen("m", retry_after=1.5), {"retry_after": 1.5, "retryable": True}),
    (RetryExhausted("m", attempts=3), {"attempts": 3, "retryable": False}),
]


@pytest.mark.parametrize(("error", "attributes"), BUILT, ids=lambda built: type(built).__name__)
def test_an_error_has_its_attributes(error: KnowledgeError, attributes: dict[str, Any]) -> None:
    assert {name: getattr(error, name) for name in attributes} == attributes
    assert isinstance(error, CommonholdError)


@pytest.mark.parametrize(
    "error", [error for error, _ in BUILT if isinstance(error, LlmProviderError)], ids=type
)
def test_a_message_starts_with_the_model(error: LlmProviderError) -> None:
    assert str(error).startswith("[p/m] ")


def test_each_error_has_a_code_of_its_own() -> None:
    codes = {type(error).code for error, _ in BUILT}
    assert len(codes) == len(BUILT)


def test_a_refusal_is_no_empty_answer() -> None:
    assert not issubclass(RefusedCompletionError, EmptyCompletionError)


def test_the_page_has_every_error_under_its_base() -> None:
    page = section(reference("models.md"), "4. Errors")
    described = {row[0].strip("`"): row[2].strip("`") for row in next(iter(tables(page)))}
    assert described == {
        type(error).__name__: type(error).__mro__[1].__name__ for error, _ in BUILT
    }


def test_caches_are_closable_by_their_port_and_providers_are_not() -> None:
    for port in (KeyValueCache, HitWindow, AtomicHitWindow):
        assert issubclass(port, AsyncClosable)
    for provider in (LlmProvider, MeteredLlmProvider):
        assert AsyncClosable not in provider.__mro__
        assert not hasattr(provider, "close")
