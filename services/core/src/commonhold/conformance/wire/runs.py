"""Which cases there are, and one run of them over a service."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Literal, TypeAlias

import aiohttp
import msgspec
import pytest

from commonhold.conformance.rules import forget_rule, rule_in_question
from commonhold.conformance.wire.bodies import BodyCases
from commonhold.conformance.wire.documents import DocumentCases
from commonhold.conformance.wire.erasures import ErasureCases
from commonhold.conformance.wire.gates import GateCases
from commonhold.conformance.wire.keys import KeyCases
from commonhold.conformance.wire.ledgers import LedgerCases, RedactionCases
from commonhold.conformance.wire.limits import LimitCases
from commonhold.conformance.wire.pages import PageCases
from commonhold.conformance.wire.projections import ProjectionCases
from commonhold.conformance.wire.searches import SearchCases
from commonhold.conformance.wire.services import WireService
from commonhold.conformance.wire.trials import NotSupportedError, Trial
from commonhold.conformance.wire.turns import TurnCases
from commonhold.conformance.wire.units import UnitCases

Verdict: TypeAlias = Literal["pass", "fail", "not supported"]

CASE_SECONDS = 120.0
# What reading an answer raises that a case did not expect, one nested without end too.
_ANOTHER_SHAPE = (LookupError, TypeError, ValueError, AttributeError, RecursionError)
GROUPS = (
    GateCases,
    LimitCases,
    BodyCases,
    DocumentCases,
    LedgerCases,
    RedactionCases,
    PageCases,
    TurnCases,
    ProjectionCases,
    SearchCases,
    ErasureCases,
    UnitCases,
    KeyCases,
)


class Case(msgspec.Struct, frozen=True):
    """One behaviour: its group, its sentence, and what checks it."""

    group: str
    name: str
    check: Callable[[Trial], Awaitable[None]]


class Outcome(msgspec.Struct, frozen=True):
    case: Case
    verdict: Verdict
    detail: str = ""


class Report(msgspec.Struct, frozen=True):
    outcomes: tuple[Outcome, ...]

    def count(self, verdict: Verdict) -> int:
        return sum(outcome.verdict == verdict for outcome in self.outcomes)


def _cases() -> Iterator[Case]:
    for group in GROUPS:
        for name, check in vars(group).items():
            if not name.startswith("_") and isinstance(check, staticmethod):
                yield Case(group.title, name.replace("_", " "), check.__func__)


CASES = tuple(_cases())


async def run_kit(
    service: WireService,
    *,
    cases: Sequence[Case] = CASES,
    report: Callable[[Outcome], None] = lambda _outcome: None,
) -> Report:
    """Run the cases one after another; each is reported as soon as it is decided.

    Everything is written to names of this run alone, and erased behind each case.
    """
    run = secrets.token_hex(4)
    outcomes = []
    for number, case in enumerate(cases, start=1):
        outcome = await _decide(case, Trial(service, name=f"{run}-{number}"))
        report(outcome)
        outcomes.append(outcome)
    return Report(tuple(outcomes))


async def _decide(case: Case, trial: Trial) -> Outcome:
    forget_rule()
    try:
        async with asyncio.timeout(CASE_SECONDS):
            await case.check(trial)
    except NotSupportedError as reason:
        return Outcome(case, "not supported", str(reason))
    except pytest.fail.Exception as broken:
        return Outcome(case, "fail", str(broken))
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return _failed(case, f"no answer: {str(error) or type(error).__name__}")
    except _ANOTHER_SHAPE as error:
        # The answer had another shape than the case could read.
        return _failed(case, f"an answer of another shape: {error!r}")
    finally:
        await _clean_up(trial)
    return Outcome(case, "pass")


def _failed(case: Case, what: str) -> Outcome:
    return Outcome(case, "fail", f"{what}\n{rule_in_question()}")


async def _clean_up(trial: Trial) -> None:
    """Delete and erase what the case left; a service that refuses keeps it."""
    with suppress(aiohttp.ClientError, OSError, TimeoutError, *_ANOTHER_SHAPE):
        for scope in trial.scopes:
            listed = (await trial.post("memory/list_documents", {"scope": scope})).decoded()
            for entry in listed["entries"]:
                await trial.post("memory/delete", {"scope": scope, "path": entry["path"]})
            await trial.post("memory/redact", {"scope": scope})
        if trial.capabilities.erasable:
            for thread in trial.threads:
                await trial.post("conversation/redact_turns", {"conversation_id": thread})
