"""Steps that a machine takes on two stores at once, and what each step answers."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeAlias

import msgspec

from commonhold.conformance.clocks import START, ControlledClock
from commonhold.contract import CommonholdError, IdempotencyKey, Page

Outcome: TypeAlias = tuple[str, Any]


class Call(msgspec.Struct, frozen=True):
    """One method of a store with its arguments."""

    method: str
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = {}

    async def on(self, target: Any) -> Any:
        return await getattr(target, self.method)(*self.arguments, **self.options)


class Keyed(msgspec.Struct, frozen=True):
    """A mutation under an idempotency key."""

    value: str
    digest: bytes
    call: Call


class NextPage(msgspec.Struct, frozen=True):
    """Go on where the last page of the same listing ended, with another limit perhaps."""

    call: Call


class Step(msgspec.Struct, frozen=True):
    """What happens `seconds` after the start; the clock may have run backwards."""

    seconds: int
    act: Call | Keyed | NextPage


class DivergenceError(AssertionError):
    """Two stores answered one step differently."""


class Party:
    """A store on a clock of its own, with the cursors that it gave out."""

    def __init__(self, store: Any, clock: ControlledClock) -> None:
        self.store = store
        self._clock = clock
        self._cursors: dict[str, str | None] = {}

    async def take(self, step: Step) -> Outcome:
        """The answer, or the refusal by its class and details."""
        self._clock.step = timedelta()
        self._clock.set(START + timedelta(seconds=step.seconds))
        try:
            return "answer", await self._act(step.act)
        except CommonholdError as error:
            return type(error).__name__, dict(error.details)
        except ValueError:
            return "ValueError", None

    async def _act(self, act: Call | Keyed | NextPage) -> Any:
        match act:
            case Keyed(value=value, digest=digest, call=call):
                key = IdempotencyKey("client:default", value)
                return await call.on(self.store.guarded(key=key, digest=digest))
            case NextPage(call=call):
                cursor = self._cursors.get(call.method)
                options = {**call.options, "cursor": cursor}
                return self._page(
                    call, await Call(call.method, call.arguments, options).on(self.store)
                )
            case Call() as call:
                return self._page(call, await call.on(self.store))

    def _page(self, call: Call, answer: Any) -> Any:
        """A page without its cursor, which no two stores write alike."""
        if not isinstance(answer, Page):
            return answer
        self._cursors[call.method] = answer.next_cursor
        return answer.items, answer.next_cursor is not None


async def run_together(steps: list[Step], *, subject: Party, model: Party) -> None:
    """Take every step on both; raise DivergenceError at the first that they answer differently."""
    for place, step in enumerate([*steps, *_survey(steps)]):
        expected = await model.take(step)
        seen = await subject.take(step)
        if seen != expected:
            raise DivergenceError(
                f"step {place}: {step}\nexpected: {expected}\nseen:     {seen}\nsteps: {steps}"
            )


def _survey(steps: list[Step]) -> list[Step]:
    """Everything that can be read once the steps are taken."""
    seconds = max((step.seconds for step in steps), default=0)
    return [Step(seconds, call) for call in SURVEY]


SCOPES = ("u:a", "u:a/p:x")
PATHS = ("a", "a/b", "B")
THREADS = ("t", "T")

_BY_SCOPE: tuple[Callable[[str], Call], ...] = (
    lambda scope: Call("list_documents", (scope,)),
    lambda scope: Call("history", (scope,)),
    lambda scope: Call("redactions", (scope,)),
)
SURVEY = (
    *(make(scope) for scope in SCOPES for make in _BY_SCOPE),
    *(Call("read", (scope, path)) for scope in SCOPES for path in PATHS),
    *(Call("versions", (scope, path)) for scope in SCOPES for path in PATHS),
    *(Call(name, (thread,)) for thread in THREADS for name in ("read_turns", "read_projections")),
    *(Call("last_turn_number", (thread,)) for thread in THREADS),
    Call("search_turns", ("e",)),
    Call("turn_redactions"),
    Call("scopes"),
    Call("conversations"),
)
