"""The erasure of a conversation, by an operator (docs/reference/maintenance.md, section 6.1)."""

from collections.abc import Sequence

import msgspec

from commonhold.contract.ids import check_conversation_id
from commonhold.usecases.upkeep.holds import NO_HOLDS
from commonhold.usecases.upkeep.retention_ports import (
    RetainedStore,
    require_enumerable,
    require_erasable,
)
from commonhold.usecases.upkeep.session_listings import (
    DocumentName,
    SessionErasure,
    erase_sessions,
)
from commonhold.usecases.upkeep.shortfalls import Steps


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The turns to erase: `through` a number, the named `turns`, or with neither all.

    Raises ValueError for both at once and for a number below 1.
    """

    through: int | None = None
    turns: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.through is not None and self.turns is not None:
            raise ValueError("give through= or turns=, not both")
        for number in (self.through, *(self.turns or ())):
            if number is not None and number < 1:
                raise ValueError(f"turn numbers start at 1, got {number}")

    @property
    def is_everything(self) -> bool:
        return self.through is None and self.turns is None


EVERYTHING = Selection()


class ConversationErasure(msgspec.Struct, frozen=True, kw_only=True):
    """What was erased: turns matched, blank ones included, and documents of sessions.

    `unfinished` names the steps that were not done; the turns are erased all the same.
    """

    conversation_id: str
    count: int
    documents: tuple[DocumentName, ...] = ()
    unfinished: str | None = None


async def redact_conversation(
    store: RetainedStore,
    conversation_id: str,
    *,
    selection: Selection = EVERYTHING,
    actor: str | None = None,
) -> ConversationErasure:
    """Blank turns for good; with all of them, the documents of the conversation's sessions too.

    Every act on turns is recorded, repeats too. A legal hold does not stand in the way: the
    operator named this conversation. Raises ConfigurationError when the store cannot erase.
    """
    check_conversation_id(conversation_id)
    turns: Sequence[int] | None = selection.turns
    count = await require_erasable(store).redact_turns(
        conversation_id, through=selection.through, turns=turns, actor=actor
    )
    if not selection.is_everything:
        return ConversationErasure(conversation_id=conversation_id, count=count)
    steps = Steps()
    found = SessionErasure()
    with steps.attempt("the documents under sessions/ were not erased"):
        scopes = await require_enumerable(store).scopes()
        found = await erase_sessions(
            store, store, {conversation_id}, scopes=scopes, actor=actor, holds=NO_HOLDS, steps=steps
        )
    return ConversationErasure(
        conversation_id=conversation_id,
        count=count,
        documents=found.erased,
        unfinished="; ".join(map(str, steps.shortfalls)) or None,
    )
