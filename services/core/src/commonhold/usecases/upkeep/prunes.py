"""The erasure of conversations that have long been quiet (maintenance.md, section 6.2).

What is active is never cut, what is held is never touched, and a second run finds nothing.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.stores import Erasable
from commonhold.contract.turns import DEFAULT_TRAIL_LIMIT, ConversationTurn
from commonhold.usecases.upkeep.durations import cutoff_of
from commonhold.usecases.upkeep.holds import NO_HOLDS, Holds
from commonhold.usecases.upkeep.protections import CHANGED, HELD
from commonhold.usecases.upkeep.retention_ports import (
    RetainedStore,
    RetentionActs,
    TurnEraser,
    TurnReader,
    require_enumerable,
    require_erasable,
)
from commonhold.usecases.upkeep.session_listings import (
    DocumentName,
    KeptDocument,
    SessionErasure,
    erase_sessions,
)
from commonhold.usecases.upkeep.shortfalls import Shortfall, Steps

EVERY_CONVERSATION: Sequence[str] = ("",)
# Turns looked at at a time when nothing cheaper tells whether all of them are blank.
_LOOK_TURNS = 50


class PlannedConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation whose turns up to `turns` go; `last_at` is the newest one's stamp."""

    conversation_id: str
    turns: int
    last_at: datetime


class SparedConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that would have gone, and why it stays."""

    conversation_id: str
    reason: str


class PrunePlan(msgspec.Struct, frozen=True, kw_only=True):
    """`blank` are quiet conversations without a turn left to erase.

    A run that was interrupted may have left them their session documents.
    """

    conversations: tuple[PlannedConversation, ...] = ()
    spared: tuple[SparedConversation, ...] = ()
    blank: tuple[str, ...] = ()


class PruneReport(msgspec.Struct, frozen=True, kw_only=True):
    """What went, or in a dry run what would; and what a hold or a new turn has spared.

    `unfinished` names what was refused: the rest is erased all the same.
    """

    cutoff: datetime
    dry_run: bool
    turns: int
    conversations: tuple[PlannedConversation, ...]
    documents: tuple[DocumentName, ...]
    spared: tuple[SparedConversation, ...] = ()
    kept: tuple[KeptDocument, ...] = ()
    unfinished: tuple[Shortfall, ...] = ()


async def prune(
    store: RetainedStore,
    *,
    older_than: timedelta,
    clock: Clock,
    prefixes: Sequence[str] = EVERY_CONVERSATION,
    holds: Holds = NO_HOLDS,
    actor: str | None = None,
    dry_run: bool = False,
    acts: RetentionActs | None = None,
) -> PruneReport:
    """Erase the conversations, of those whose id starts with a prefix, quiet for so long.

    A turn appended after the plan was made survives, whenever it comes. What the store
    refuses is reported, and the rest is erased. `acts` erases
    instead of the store: a view of it that stands under a claim. Raises ConfigurationError,
    before anything is written, when the store can neither erase turns nor enumerate itself.
    """
    eraser = require_erasable(store)
    everything = require_enumerable(store)
    cutoff = cutoff_of(read_clock(clock), older_than)
    named = [one for one in await everything.conversations() if one.startswith(tuple(prefixes))]
    steps = Steps()
    plan = await _plan(store, eraser, named, cutoff=cutoff, holds=holds, steps=steps)
    if dry_run:
        erased, spared = plan.conversations, plan.spared
        turns = sum(planned.turns for planned in erased)
    else:
        turns, erased, spared = await _carry_out(
            store, acts or eraser, plan, actor=actor, steps=steps
        )
    traced = {*plan.blank, *(planned.conversation_id for planned in erased)}
    sessions = SessionErasure()
    if traced and not steps.is_cut_short:
        with steps.attempt("the documents under sessions/ were not erased"):
            sessions = await erase_sessions(
                store,
                acts or store,
                traced,
                scopes=await everything.scopes(),
                actor=actor,
                holds=holds,
                steps=steps,
                dry_run=dry_run,
            )
    return PruneReport(
        cutoff=cutoff,
        dry_run=dry_run,
        turns=turns,
        conversations=erased,
        documents=sessions.erased,
        spared=spared,
        kept=sessions.held,
        unfinished=tuple(steps.shortfalls),
    )


async def _plan(
    store: TurnReader,
    eraser: Erasable,
    conversations: Sequence[str],
    *,
    cutoff: datetime,
    holds: Holds,
    steps: Steps,
) -> PrunePlan:
    planned: list[PlannedConversation] = []
    spared: list[SparedConversation] = []
    blank: list[str] = []
    for name in conversations:
        newest, is_blank = None, False
        with steps.attempt(f"conversation {name} was not looked at"):
            found = await _quiet_turn(store, name, cutoff=cutoff)
            is_blank = found is not None and await _is_blank(store, eraser, found)
            # Last: what was not looked at whole is not erased.
            newest = found
        if steps.is_cut_short:
            break
        if newest is None:
            continue
        if holds.holds_conversation(name):
            if not is_blank:
                spared.append(SparedConversation(conversation_id=name, reason=HELD))
        elif is_blank:
            blank.append(name)
        else:
            planned.append(
                PlannedConversation(
                    conversation_id=name, turns=newest.turn, last_at=newest.created_at
                )
            )
    return PrunePlan(conversations=tuple(planned), spared=tuple(spared), blank=tuple(blank))


async def _quiet_turn(
    store: TurnReader, conversation_id: str, *, cutoff: datetime
) -> ConversationTurn | None:
    """The newest turn of a conversation that is quiet since the cutoff."""
    newest = await _newest_turn(store, conversation_id)
    return None if newest is None or newest.created_at >= cutoff else newest


async def _newest_turn(store: TurnReader, conversation_id: str) -> ConversationTurn | None:
    last = await store.last_turn_number(conversation_id)
    if last == 0:
        return None
    return next(iter(await store.read_turns(conversation_id, after=last - 1, limit=1)), None)


async def _is_blank(store: TurnReader, eraser: Erasable, newest: ConversationTurn) -> bool:
    """Whether every turn up to a blank one is: from the trail where it says so, else by looking.

    A conversation pruned before is known by its last act, whatever its length. Blank turns
    hold nothing, and the first that is not blank ends the looking.
    """
    if not newest.redacted:
        return False
    name = newest.conversation_id
    acts = await eraser.turn_redactions(conversations=[name], limit=DEFAULT_TRAIL_LIMIT)
    if len({turn for act in acts for turn in act.turns}) >= newest.turn:
        return True
    after = 0
    while after < newest.turn:
        turns = await store.read_turns(name, after=after, limit=_LOOK_TURNS)
        if not all(turn.redacted for turn in turns):
            return False
        after = turns[-1].turn if turns else newest.turn
    return True


async def _carry_out(
    store: TurnReader, eraser: TurnEraser, plan: PrunePlan, *, actor: str | None, steps: Steps
) -> tuple[int, tuple[PlannedConversation, ...], tuple[SparedConversation, ...]]:
    turns = 0
    erased: list[PlannedConversation] = []
    spared = list(plan.spared)
    for planned in plan.conversations:
        name = planned.conversation_id
        if steps.is_cut_short:
            break
        with steps.attempt(f"conversation {name} was not erased"):
            if await store.last_turn_number(name) != planned.turns:
                spared.append(SparedConversation(conversation_id=name, reason=CHANGED))
                continue
            turns += await eraser.redact_turns(name, through=planned.turns, actor=actor)
            erased.append(planned)
    return turns, tuple(erased), tuple(spared)
