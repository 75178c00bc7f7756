"""The units of a transfer, which of them are asked for, and which places are taken."""

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from commonhold.contract.errors import (
    CommonholdError,
    ConfigurationError,
    ConversationConflictError,
    ConversationFormatError,
    MemoryConflictError,
)
from commonhold.contract.ids import check_conversation_id, check_scope
from commonhold.contract.stores import Erasable, Portable
from commonhold.contract.turns import TRAIL_BOUND
from commonhold.usecases.transfers.archives import Source

UnitKind: TypeAlias = Literal["scope", "conversation"]
# All units of a kind, of which none could be listed; no unit is called so.
EVERY = "*"


@runtime_checkable
class Target(Source, Portable, Protocol):
    """What a transfer writes to."""


class Unit(msgspec.Struct, frozen=True, order=True):
    """One scope or one conversation."""

    kind: UnitKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Units by name; naming either kind leaves out whatever is not named, naming none is all.

    Names are checked where a choice is made: `check` raises for one outside its grammar.
    """

    scopes: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()

    def check(self) -> None:
        for scope in self.scopes:
            check_scope(scope)
        for conversation_id in self.conversations:
            check_conversation_id(conversation_id)

    @property
    def is_everything(self) -> bool:
        return not (self.scopes or self.conversations)


class Found(msgspec.Struct, frozen=True):
    """The units of a transfer, and why the source does not list those of a kind."""

    units: tuple[Unit, ...]
    refused: tuple[tuple[Unit, CommonholdError], ...] = ()


async def units_of(source: Source, choice: Choice) -> Found:
    """Scopes in code point order, then conversations in theirs, each once."""
    choice.check()
    if not choice.is_everything:
        return Found(_sorted(choice.scopes, choice.conversations))
    if not isinstance(source, Portable):
        raise ConfigurationError(
            f"{type(source).__name__} does not list its units: name scopes or conversations"
        )
    scopes = await source.scopes()
    try:
        return Found(_sorted(scopes, await source.conversations()))
    except ConversationFormatError as error:
        # The scopes are in nobody's way, and would be lost to a backup.
        return Found(_sorted(scopes, ()), ((Unit("conversation", EVERY), error),))


def _sorted(scopes: Iterable[str], conversations: Iterable[str]) -> tuple[Unit, ...]:
    return (
        *(Unit("scope", name) for name in sorted(set(scopes))),
        *(Unit("conversation", name) for name in sorted(set(conversations))),
    )


async def require_free(target: Target, units: Sequence[Unit]) -> None:
    """Raise the conflict of the first unit, in their order, whose place holds anything."""
    for unit in await taken_of(target, units):
        if unit.kind == "scope":
            raise MemoryConflictError(scope=unit.name, path=None, reason="target_occupied")
        raise ConversationConflictError(conversation_id=unit.name, reason="target_occupied")


async def taken_of(target: Target, units: Sequence[Unit]) -> tuple[Unit, ...]:
    """The units whose place in the target holds anything, in their order."""
    kinds = {unit.kind for unit in units}
    taken: set[Unit] = set()
    if "scope" in kinds:
        taken |= {Unit("scope", name) for name in await target.scopes()}
    if "conversation" in kinds:
        taken |= {Unit("conversation", name) for name in await target.conversations()}
    taken |= {Unit("conversation", name) for name in await _with_a_trail(target, units)}
    return tuple(unit for unit in units if unit in taken)


async def _with_a_trail(target: Target, units: Sequence[Unit]) -> set[str]:
    """The conversations of which acts alone are kept: no listing names them."""
    if not isinstance(target, Erasable):
        return set()
    names = [unit.name for unit in units if unit.kind == "conversation"]
    found: set[str] = set()
    for start in range(0, len(names), TRAIL_BOUND):
        some = names[start : start + TRAIL_BOUND]
        acts = await target.turn_redactions(conversations=some, limit=TRAIL_BOUND)
        found.update(act.conversation_id for act in acts)
    return found
