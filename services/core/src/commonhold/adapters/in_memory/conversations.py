"""The conversation seam in dicts, without a single await: a call is atomic on its event loop."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from commonhold.adapters.in_memory.answers import Answers
from commonhold.adapters.in_memory.rows import (
    ProjectionRow,
    TrailRow,
    TurnRow,
    readable_projection,
    readable_turn,
)
from commonhold.contract.archives import landed_conversation
from commonhold.contract.clock import Clock, read_clock, require_aware
from commonhold.contract.errors import ConversationConflictError
from commonhold.contract.ids import MAX_NUMBER, check_conversation_id
from commonhold.contract.limits import (
    require_positive_limit,
    require_selectors,
    require_window,
)
from commonhold.contract.messages import Message, encode_messages, settle_messages
from commonhold.contract.search import fold, matches, query_terms, turn_text
from commonhold.contract.text import require_encodable, require_storable, require_storable_tree
from commonhold.contract.turns import (
    ConversationArchive,
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
    is_any_in,
)


class ConversationLedger:
    """One conversation: turns by number, projections and erasures in order of insertion."""

    def __init__(self) -> None:
        self.turns: dict[int, TurnRow] = {}
        self.projections: list[ProjectionRow] = []
        self.trail: list[TrailRow] = []
        self.last = 0
        self._newest: datetime | None = None

    def stamp(self, moment: datetime) -> datetime:
        """`moment`, or the newest stamp of the turns when that is later."""
        return moment if self._newest is None else max(moment, self._newest)

    def add(self, row: TurnRow) -> None:
        self.turns[row.turn] = row
        self.last = max(self.last, row.turn)
        self._newest = self.stamp(row.created_at)

    def blank(self, numbers: Sequence[int], *, at: datetime) -> None:
        self._newest = self.stamp(at)
        for number in numbers:
            self.turns[number] = self.turns[number].blank()
        blanked = sorted(numbers)
        for place, entry in enumerate(self.projections):
            if is_any_in(blanked, range(entry.turn - entry.span + 1, entry.turn + 1)):
                self.projections[place] = entry.blank()

    def record(self, act: ConversationRedaction) -> None:
        self.trail.append(TrailRow(position=len(self.trail) + 1, record=act))


class Conversations:
    """Every conversation of one store."""

    def __init__(self, clock: Clock, answers: Answers) -> None:
        self._clock = clock
        self._answers = answers
        self.ledgers: dict[str, ConversationLedger] = {}

    def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None
    ) -> ConversationTurn:
        check_conversation_id(conversation_id)
        if not messages:
            raise ValueError("a turn must carry at least one message")
        require_storable_tree(messages, name="messages")
        _require_storable_actor(actor)
        stored = settle_messages(messages)
        now = read_clock(self._clock)
        ledger = self._put_ledger(conversation_id)
        row = TurnRow(
            turn=ledger.last + 1,
            messages=encode_messages(stored),
            text=fold(turn_text(stored)),
            created_at=ledger.stamp(now),
            actor=actor,
            redacted=False,
        )
        ledger.add(row)
        return readable_turn(row, conversation_id=conversation_id)

    def read_turns(
        self, conversation_id: str, *, after: int, limit: int | None
    ) -> tuple[ConversationTurn, ...]:
        check_conversation_id(conversation_id)
        require_window(after=after, limit=limit)
        ledger = self.ledgers.get(conversation_id, _NOTHING)
        numbers = sorted(number for number in ledger.turns if number > after)
        return tuple(
            readable_turn(ledger.turns[number], conversation_id=conversation_id)
            for number in numbers[:limit]
        )

    def last_turn_number(self, conversation_id: str) -> int:
        check_conversation_id(conversation_id)
        return self.ledgers.get(conversation_id, _NOTHING).last

    def search_turns(
        self, query: str, *, conversations: Sequence[str] | None, limit: int
    ) -> tuple[ConversationTurn, ...]:
        terms = _require_terms(query)
        ids = self._selected(conversations)
        require_positive_limit(limit)
        return self._search(terms, ids, limit=limit)

    def search_turns_within(
        self, query: str, *, prefixes: Sequence[str], limit: int
    ) -> tuple[ConversationTurn, ...]:
        terms = _require_terms(query)
        for prefix in prefixes:
            require_encodable(prefix, name="prefixes")
        require_positive_limit(limit)
        ids = (name for name in self.ledgers if name.startswith(tuple(prefixes)))
        return self._search(terms, ids, limit=limit)

    def _search(
        self, terms: Sequence[str], ids: Iterable[str], *, limit: int
    ) -> tuple[ConversationTurn, ...]:
        found = [
            (row.created_at, conversation_id, row.turn)
            for conversation_id in ids
            for row in self.ledgers[conversation_id].turns.values()
            if not row.redacted and matches(row.text, terms)
        ]
        found.sort(reverse=True)
        return tuple(
            readable_turn(
                self.ledgers[conversation_id].turns[turn], conversation_id=conversation_id
            )
            for _, conversation_id, turn in found[:limit]
        )

    def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        check_conversation_id(conversation_id)
        _require_storable_entries(entries)
        if not entries:
            return
        self._put_ledger(conversation_id).projections.extend(_projection_rows(entries))

    def read_projections(
        self, conversation_id: str, *, after: int, limit: int | None
    ) -> tuple[ConversationProjection, ...]:
        check_conversation_id(conversation_id)
        require_window(after=after, limit=limit)
        ledger = self.ledgers.get(conversation_id, _NOTHING)
        rows = [row for row in ledger.projections if row.turn > after]
        rows.sort(key=lambda row: (row.turn, row.span))
        return tuple(
            readable_projection(row, conversation_id=conversation_id) for row in rows[:limit]
        )

    def redact_turns(
        self,
        conversation_id: str,
        *,
        through: int | None,
        turns: Sequence[int] | None,
        actor: str | None,
    ) -> int:
        check_conversation_id(conversation_id)
        require_selectors(through=through, turns=turns)
        _require_storable_actor(actor)
        ledger = self.ledgers.get(conversation_id, _NOTHING)
        numbers = _selected_turns(ledger, through=through, turns=turns)
        if not numbers:
            return 0
        now = ledger.stamp(read_clock(self._clock))
        ledger.blank(numbers, at=now)
        self._answers.forget_turns(conversation_id, numbers)
        ledger.record(
            ConversationRedaction(
                conversation_id=conversation_id, turns=numbers, actor=actor, created_at=now
            )
        )
        return len(numbers)

    def turn_redactions(
        self, *, conversations: Sequence[str] | None, since: datetime | None, limit: int
    ) -> tuple[ConversationRedaction, ...]:
        ids = self._selected(conversations)
        start = None if since is None else require_aware(since, name="since")
        require_positive_limit(limit)
        acts = [
            act
            for conversation_id in ids
            for act in self.ledgers[conversation_id].trail
            if start is None or act.record.created_at >= start
        ]
        acts.sort(key=_trail_order, reverse=True)
        return tuple(act.record for act in acts[:limit])

    def conversations(self) -> tuple[str, ...]:
        return tuple(
            sorted(name for name, held in self.ledgers.items() if held.turns or held.projections)
        )

    def archive(self, conversation_id: str) -> ConversationArchive:
        turns = self.read_turns(conversation_id, after=0, limit=None)
        trail = self.ledgers.get(conversation_id, _NOTHING).trail
        return ConversationArchive(
            conversation_id=conversation_id,
            turns=turns,
            projections=self.read_projections(conversation_id, after=0, limit=None),
            redactions=tuple(act.record for act in sorted(trail, key=_trail_order)),
        )

    def restore(self, archive: ConversationArchive) -> None:
        checked = landed_conversation(archive)
        name = checked.conversation_id
        if name in self.ledgers:
            raise ConversationConflictError(conversation_id=name, reason="target_occupied")
        if not (checked.turns or checked.projections or checked.redactions):
            return
        ledger = self._put_ledger(name)
        for turn in checked.turns:
            ledger.add(_turn_row(turn))
        ledger.projections.extend(_projection_rows(checked.projections))
        for act in checked.redactions:
            ledger.record(act)

    def turn(self, conversation_id: str, *, turn: int) -> ConversationTurn:
        """A turn that is known to exist, as it is now."""
        row = self.ledgers[conversation_id].turns[turn]
        return readable_turn(row, conversation_id=conversation_id)

    def _put_ledger(self, conversation_id: str) -> ConversationLedger:
        return self.ledgers.setdefault(conversation_id, ConversationLedger())

    def _selected(self, conversations: Sequence[str] | None) -> Iterator[str]:
        """The known conversations among those named, each once; all of them for None."""
        if conversations is None:
            return iter(tuple(self.ledgers))
        named = {check_conversation_id(name) for name in conversations}
        return (name for name in self.ledgers if name in named)


# What an unknown conversation holds; nothing ever writes to it.
_NOTHING = ConversationLedger()


def _turn_row(turn: ConversationTurn) -> TurnRow:
    return TurnRow(
        turn=turn.turn,
        messages=encode_messages(turn.messages),
        text=fold(turn_text(turn.messages)),
        created_at=turn.created_at,
        actor=turn.actor,
        redacted=turn.redacted,
    )


def _projection_rows(entries: Sequence[ConversationProjection]) -> list[ProjectionRow]:
    return [
        ProjectionRow(turn=entry.turn, kind=entry.kind, text=entry.text, span=entry.span)
        for entry in entries
    ]


def _selected_turns(
    ledger: ConversationLedger, *, through: int | None, turns: Sequence[int] | None
) -> tuple[int, ...]:
    if turns is not None:
        return tuple(sorted(ledger.turns.keys() & set(turns)))
    return tuple(sorted(n for n in ledger.turns if through is None or n <= through))


def _trail_order(act: TrailRow) -> tuple[datetime, str, int]:
    return act.record.created_at, act.record.conversation_id, act.position


def _require_terms(query: str) -> tuple[str, ...]:
    terms = query_terms(query)
    require_encodable(query, name="query")
    return terms


def _require_storable_actor(actor: str | None) -> None:
    if actor is not None:
        require_storable(actor, name="actor")


def _require_storable_entries(entries: Sequence[ConversationProjection]) -> None:
    for entry in entries:
        if entry.turn > MAX_NUMBER:
            raise ValueError(f"parameter 'turn' must be 1 to {MAX_NUMBER}, got {entry.turn}")
        require_storable(entry.text, name="text")
