"""The kit of language models: a sound provider passes it, and each bug is seen by a test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from commonhold.conformance.language_models import Asked, MeteredLlmProviderCompliance, Step
from commonhold.contract.model_errors import LlmProviderError
from tests.support.mutants.language_models import MUTANTS, ScriptedProvider

TESTS = [name for name in dir(MeteredLlmProviderCompliance) if name.startswith("test_")]


class Subject(MeteredLlmProviderCompliance):
    """The kit over a kind of provider."""

    __test__ = False

    def __init__(self, kind: type[ScriptedProvider]) -> None:
        self._kind = kind

    @asynccontextmanager
    async def provider_for(self, *steps: Step) -> AsyncIterator[ScriptedProvider]:
        yield self._kind(*steps)

    def asked(self, provider: Any) -> tuple[Asked, ...]:
        return tuple(provider.asked)


@pytest.mark.parametrize("test", TESTS)
async def test_a_sound_provider_passes(test: str) -> None:
    await getattr(Subject(ScriptedProvider), test)()


@pytest.mark.parametrize(("kind", "test"), MUTANTS)
async def test_the_test_fails_over_the_mutant(kind: type[ScriptedProvider], test: str) -> None:
    with pytest.raises((pytest.fail.Exception, LlmProviderError)):
        await getattr(Subject(kind), test)()


def test_every_test_of_the_kit_fails_over_some_mutant() -> None:
    assert {test for _, test in MUTANTS} == set(TESTS)
