"""Random runs of steps answered by FileStore and by the model in memory."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from hypothesis import Phase, given, settings

from commonhold.adapters.file import FileStore
from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock
from commonhold.conformance.clocks import START
from commonhold.contract import ConversationArchive, ScopeArchive
from tests.support.machines.steps import Call, Keyed, NextPage, Party, Step, run_together
from tests.support.machines.strategies import document_runs, turn_runs
from tests.support.roots import temporary_root

# A divergence tells its steps itself; making them fewer on files takes minutes.
RUNS = settings(
    max_examples=50, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)


async def compare(steps: list[Step]) -> None:
    clock, model_clock = ControlledClock(), ControlledClock()
    with temporary_root() as root:
        async with FileStore(root, clock=clock) as store:
            await run_together(
                [Step(step.seconds, common(step.act)) for step in after_erasures(steps)],
                subject=Party(store, clock),
                model=Party(InMemoryStore(clock=model_clock), model_clock),
            )


def after_erasures(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, where no clock goes behind what it read before an erasure of a whole scope.

    In files such an erasure stands in the trail of the scope, and what follows is not stamped
    before it, be it of a path that the erasure did not meet (docs/reference/filestore.md,
    section 6).
    """
    latest = floor = 0
    for step in steps:
        seconds = max(step.seconds, floor)
        latest = max(latest, seconds)
        if _call_of(step.act).method == "redact" and _call_of(step.act).options.get("path") is None:
            seconds = floor = latest
        yield Step(seconds, step.act)


def _call_of(act: Call | Keyed | NextPage) -> Call:
    return act if isinstance(act, Call) else act.call


def common(act: Call | Keyed | NextPage) -> Call | NextPage:
    """The act as far as files and dicts have it in common.

    Files keep no keys. In them an erasure that was restored is like any other: what follows
    is not stamped before it, so those of an archive are made the oldest of all.
    """
    if isinstance(act, NextPage):
        return act
    call = act.call if isinstance(act, Keyed) else act
    return Call(call.method, tuple(map(_with_old_acts, call.arguments)), call.options)


def _with_old_acts(argument: Any) -> Any:
    if not isinstance(argument, ScopeArchive | ConversationArchive):
        return argument
    acts = [msgspec.structs.replace(act, created_at=START) for act in argument.redactions]
    return msgspec.structs.replace(argument, redactions=tuple(acts))


@RUNS
@given(document_runs)
def test_files_answer_as_the_model_does_over_documents(steps: list[Step]) -> None:
    asyncio.run(compare(steps))


@RUNS
@given(turn_runs)
def test_files_answer_as_the_model_does_over_conversations(steps: list[Step]) -> None:
    asyncio.run(compare(steps))
