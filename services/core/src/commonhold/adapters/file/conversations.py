"""The conversation seam over the files of one root; the caller holds the root's lock.

docs/reference/stores.md, sections 5 and 7.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TypeAlias

import msgspec

from commonhold.adapters.file import lines
from commonhold.adapters.file.blanks import (
    Loose,
    blank_projection,
    blank_turn,
    loose_turn,
    projection_range,
)
from commonhold.adapters.file.changes import Change
from commonhold.adapters.file.faults import RowFaultError, placed
from commonhold.adapters.file.findings import MOST_FILES, Findings
from commonhold.adapters.file.layout import (
    CONVERSATIONS,
    conversation_folder,
    conversation_of,
    conversation_trail,
    projections_file,
    turns_file,
)
from commonhold.adapters.file.ledgers import Ledger
from commonhold.adapters.file.leftovers import clear_folders
from commonhold.adapters.file.projections import Projections
from commonhold.adapters.file.tree import Place, SpelledOtherwiseError, StrayEntryError, Tree
from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.errors import ConversationFormatError
from commonhold.contract.ids import MAX_NUMBER
from commonhold.contract.messages import Message
from commonhold.contract.search import fold, matches, turn_text
from commonhold.contract.turns import (
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
    is_any_in,
)

# A line as it is, its number, and the turn it holds or ends at.
_Numbered: TypeAlias = tuple[int, bytes]


class Conversations:
    """Every conversation of one root."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logs = Findings[Ledger](most=MOST_FILES)
        self._entries = Findings[Ledger](most=MOST_FILES)
        self._erasures = Findings[datetime | None](most=MOST_FILES)
        self._projections = Projections()

    def append_turn(
        self,
        tree: Tree,
        change: Change,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        actor: str | None,
    ) -> ConversationTurn:
        now = read_clock(self._clock)
        log = self._log(tree, conversation_id, of_any_format=False)
        if log.last >= MAX_NUMBER:
            raise ValueError(f"conversation {conversation_id!r} has used every turn number")
        turn = ConversationTurn(
            conversation_id=conversation_id,
            turn=log.last + 1,
            messages=tuple(messages),
            created_at=log.follow(now),
            actor=actor,
        )
        line = lines.encode_turn(turn)
        file = turns_file(conversation_id)
        change.append(file, log.joined(line))
        change.commit()
        self._logs.put(tree, file, Ledger(last=turn.turn, newest=turn.created_at))
        # As a reader will see it: nothing that the caller still holds is in it.
        return lines.decode_turn(line, number=turn.turn, conversation_id=conversation_id)

    def read_turns(
        self,
        tree: Tree,
        conversation_id: str,
        *,
        after: int,
        limit: int | None,
        max_bytes: int | None = None,
    ) -> tuple[tuple[ConversationTurn, ...], bool]:
        """Turns, and whether some were left out because those before weigh `max_bytes`.

        A page behind a number costs what it holds: turns ascend, so the file is halved for
        its beginning.
        """
        window = _Window(conversation_id, after, limit, max_bytes)
        file = turns_file(conversation_id)
        with _refusing(conversation_id, file):
            if tree.look_for_file(file) is Place.FILE and after:
                with suppress(RowFaultError):
                    start = tree.line_where(file, lambda line: _turn_of(line) > after)
                    return window.of(tree.lines(file, start=start))
            # From the first line, by which a fault is told.
            return window.of(tree.lines(file))

    def last_turn_number(self, tree: Tree, conversation_id: str) -> int:
        file = turns_file(conversation_id)
        with _refusing(conversation_id, file):
            tree.look_for_file(file)
            log = self._turns_in(tree, file)
            log.require_rows()
        return log.last

    def search(
        self, tree: Tree, terms: Sequence[str], ids: Iterable[str], *, limit: int
    ) -> tuple[ConversationTurn, ...]:
        """Hits newest first; of the turns that were looked at only those are held."""
        hits = (hit for conversation_id in ids for hit in _hits(tree, conversation_id, terms))
        return tuple(heapq.nlargest(limit, hits, key=_turn_order))

    def append_projections(
        self,
        tree: Tree,
        change: Change,
        conversation_id: str,
        entries: Sequence[ConversationProjection],
    ) -> None:
        file = projections_file(conversation_id)
        with _refusing(conversation_id, file):
            tree.look_for_file(file)
            log = self._entries.get(tree, file, lambda: _entries_of(tree.read(file) or b""))
        rows = b"".join(lines.encode_projection(entry) for entry in entries)
        change.append(file, log.joined(rows))
        change.commit()
        self._entries.put(tree, file, Ledger())

    def read_projections(
        self,
        tree: Tree,
        conversation_id: str,
        *,
        after: int,
        limit: int | None,
        max_bytes: int | None = None,
    ) -> tuple[tuple[ConversationProjection, ...], bool]:
        """As `read_turns`; all entries are looked through where their file is new or changed."""
        file = projections_file(conversation_id)
        with _refusing(conversation_id, file):
            return self._projections.read(tree, file, after=after, limit=limit, max_bytes=max_bytes)

    def redact_turns(
        self,
        tree: Tree,
        change: Change,
        conversation_id: str,
        *,
        through: int | None,
        turns: Sequence[int] | None,
        actor: str | None,
    ) -> int:
        rows, numbers = self._matched(tree, conversation_id, through=through, turns=turns)
        folder = conversation_folder(conversation_id)
        with _refusing(conversation_id, folder):
            is_littered = clear_folders(tree, change, (folder,))
        if not numbers:
            if is_littered:
                change.commit()
            return 0
        log = self._log(tree, conversation_id, of_any_format=True)
        now = log.follow(read_clock(self._clock))
        change.put_lines(turns_file(conversation_id), rows)
        self._blank_projections(tree, change, conversation_id, frozenset(numbers))
        act = ConversationRedaction(
            conversation_id=conversation_id,
            turns=tuple(sorted(numbers)),
            actor=actor,
            created_at=now,
        )
        trail = conversation_trail(conversation_id)
        with _refusing(conversation_id, trail):
            tree.look_for_file(trail)
            before = tree.whole_lines(trail)
        change.put_lines(trail, (before, lines.encode_turn_redaction(act)))
        change.commit()
        return len(numbers)

    def redactions(
        self, tree: Tree, ids: Iterable[str], *, since: datetime | None, limit: int
    ) -> tuple[ConversationRedaction, ...]:
        acts = [
            (act.created_at, conversation_id, place, act)
            for conversation_id in ids
            for place, act in enumerate(read_trail(tree, conversation_id))
            if since is None or act.created_at >= since
        ]
        acts.sort(key=lambda act: act[:3], reverse=True)
        return tuple(act for *_, act in acts[:limit])

    def _log(self, tree: Tree, conversation_id: str, *, of_any_format: bool) -> Ledger:
        """What the next turn follows: the turns and their erasures.

        No turn follows one that cannot be read; an act of erasure does, `of_any_format`.
        """
        file = turns_file(conversation_id)
        with _refusing(conversation_id, file):
            tree.look_for_file(file)
            log = self._turns_in(tree, file)
            if not of_any_format:
                log.require_rows()
        trail = conversation_trail(conversation_id)
        try:
            erased_at = self._erasures.get(
                tree, trail, lambda: _newest_erasure(tree.read(trail) or b"")
            )
            return log.after(erased_at)
        except (RowFaultError, StrayEntryError, SpelledOtherwiseError):
            # A trail that cannot be read decides nothing.
            return log

    def _turns_in(self, tree: Tree, file: str) -> Ledger:
        return self._logs.get(tree, file, lambda: _log_of(tree.read(file) or b""))

    def _matched(
        self,
        tree: Tree,
        conversation_id: str,
        *,
        through: int | None,
        turns: Sequence[int] | None,
    ) -> tuple[list[bytes], set[int]]:
        """The log with the selected turns blanked, and their numbers."""
        named = None if turns is None else frozenset(turns)
        rows: list[bytes] = []
        numbers: set[int] = set()
        file = turns_file(conversation_id)
        with _refusing(conversation_id, file):
            for number, line in _lines(tree, file):
                turn = loose_turn(line, number=number).number
                if not turn:
                    raise lines.invalid(number, lines.TURN_LOG)
                is_named = named is None or turn in named
                if is_named and (through is None or turn <= through):
                    numbers.add(turn)
                    rows.append(blank_turn(line, number=number))
                else:
                    rows.append(line + b"\n")
        return rows, numbers

    def _blank_projections(
        self, tree: Tree, change: Change, conversation_id: str, numbers: frozenset[int]
    ) -> None:
        """The entries that cover one of the turns; the file stays when none does."""
        rows: list[bytes] = []
        is_changed = False
        blanked = sorted(numbers)
        file = projections_file(conversation_id)
        with _refusing(conversation_id, file):
            for number, line in _lines(tree, file):
                covered = projection_range(line, number=number)
                if is_any_in(blanked, covered):
                    is_changed = True
                    rows.append(blank_projection(line, number=number))
                else:
                    rows.append(line + b"\n")
        if is_changed:
            change.put_lines(file, rows)


class _Window(msgspec.Struct, frozen=True):
    """Which turns of a file are asked for."""

    conversation_id: str
    after: int
    limit: int | None
    max_bytes: int | None

    def of(self, some: Iterable[bytes]) -> tuple[tuple[ConversationTurn, ...], bool]:
        found: list[ConversationTurn] = []
        weight = 0
        for number, line in enumerate(some, 1):
            if self.limit is not None and len(found) >= self.limit:
                break
            if lines.turn_mark(line, number=number).turn <= self.after:
                continue
            if self.max_bytes is not None and weight >= self.max_bytes:
                return tuple(found), True
            found.append(
                lines.decode_turn(line, number=number, conversation_id=self.conversation_id)
            )
            weight += len(line)
        return tuple(found), False


def read_trail(tree: Tree, conversation_id: str) -> list[ConversationRedaction]:
    """The erasures of a conversation, oldest first."""
    file = conversation_trail(conversation_id)
    with _refusing(conversation_id, file):
        return [
            lines.decode_turn_redaction(line, number=number, conversation_id=conversation_id)
            for number, line in _lines(tree, file)
        ]


def list_ids(tree: Tree) -> tuple[str, ...]:
    """Every folder that is a conversation's by its name, whatever it holds."""
    try:
        names = tree.folders(CONVERSATIONS)
    except StrayEntryError as stray:
        error = ConversationFormatError(conversation_id="", reason=stray.fault)
        raise placed(error, file=stray.file) from None
    return tuple(name for name in names if conversation_of(name) is not None)


def look(tree: Tree, conversation_id: str, file: str) -> Place:
    with _refusing(conversation_id, file):
        return tree.look_for_file(file)


@contextmanager
def _refusing(conversation_id: str, file: str) -> Iterator[None]:
    """What is wrong with a file, as the refusal of its conversation."""
    try:
        yield
    except RowFaultError as fault:
        error = ConversationFormatError(conversation_id=conversation_id, reason=fault.reason)
        raise placed(error, file=file, line=fault.line) from None
    except StrayEntryError as stray:
        error = ConversationFormatError(conversation_id=conversation_id, reason=stray.fault)
        raise placed(error, file=stray.file) from None
    except SpelledOtherwiseError as stray:
        reason = "case_collision"
        error = ConversationFormatError(conversation_id=conversation_id, reason=reason)
        raise placed(error, file=stray.file) from None


def _lines(tree: Tree, file: str) -> Iterator[_Numbered]:
    tree.look_for_file(file)
    return enumerate(tree.lines(file), 1)


def _hits(tree: Tree, conversation_id: str, terms: Sequence[str]) -> Iterator[ConversationTurn]:
    file = turns_file(conversation_id)
    with _refusing(conversation_id, file):
        for number, line in _lines(tree, file):
            turn = lines.decode_turn(line, number=number, conversation_id=conversation_id)
            if not turn.redacted and matches(fold(turn_text(turn.messages)), terms):
                yield turn


def _turn_order(turn: ConversationTurn) -> tuple[datetime, str, int]:
    return turn.created_at, turn.conversation_id, turn.turn


def _turn_of(line: bytes) -> int:
    return lines.turn_mark(line, number=1).turn


def _log_of(raw: bytes) -> Ledger:
    ledger = Ledger.before_rows_of(raw)
    for number, line in enumerate(lines.split_lines(raw), 1):
        mark, fault = _judged(line, number=number)
        ledger = ledger.behind(mark.number, mark.moment, fault)
    return ledger


def _judged(line: bytes, *, number: int) -> tuple[Loose, RowFaultError | None]:
    """What places a turn, and what is wrong with it; RowFaultError for what is no row at all."""
    try:
        turn = lines.decode_turn(line, number=number, conversation_id="")
    except RowFaultError as fault:
        return loose_turn(line, number=number), fault
    return Loose(turn.turn, None, turn.created_at), None


def _entries_of(raw: bytes) -> Ledger:
    """Whether an entry may follow at once; RowFaultError when none may."""
    for number, line in enumerate(lines.split_lines(raw), 1):
        lines.decode_projection(line, number=number)
    return Ledger.before_rows_of(raw)


def _newest_erasure(raw: bytes) -> datetime | None:
    numbered = enumerate(lines.split_lines(raw), 1)
    acts = (
        lines.decode_turn_redaction(line, number=number, conversation_id="")
        for number, line in numbered
    )
    return max((act.created_at for act in acts), default=None)
