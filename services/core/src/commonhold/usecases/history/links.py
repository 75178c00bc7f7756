"""Handles that stand for long addresses in log lines (docs/reference/mcp.md, section 11.5)."""

import re
from collections.abc import Iterator, Sequence

from commonhold.contract.messages import Message
from commonhold.contract.search import message_text
from commonhold.contract.stores import ConversationReader
from commonhold.contract.turns import ConversationTurn
from commonhold.usecases.history.atoms import atoms
from commonhold.usecases.history.turn_parts import argument_strings, shown
from commonhold.usecases.history.windows import FIRST_WINDOW, next_window

LONG_ATOM = 48
# Numbers come from the start of a conversation, so that an append never changes one. Long
# atoms that first appear behind these bounds get none, and stand as they are.
LINKED_TURNS = 1000
LINKED_CHARACTERS = 4_000_000

_LONG_RUN = re.compile(rf"\S{{{LONG_ATOM}}}")


class Links:
    """The long atoms of one conversation, numbered by first appearance."""

    def __init__(self, conversation_id: str) -> None:
        self._conversation_id = conversation_id
        self._numbers: dict[str, int] = {}
        self._characters = 0

    @property
    def is_full(self) -> bool:
        return self._characters > LINKED_CHARACTERS

    def add_turn(self, messages: Sequence[Message]) -> None:
        for text in _texts(messages):
            self._add_text(text)

    def contract(self, text: str) -> str:
        """The text with handles in the place of numbered atoms."""
        if not self._numbers or not may_hold_long_atom(text):
            return text
        pieces: list[str] = []
        copied = 0
        for atom in atoms(text):
            number = self._numbers.get(text[atom.start : atom.end])
            if number is not None:
                pieces += text[copied : atom.start], f"[link {self._conversation_id}:{number}]"
                copied = atom.end
        return "".join(pieces) + text[copied:]

    def _add_text(self, text: str) -> None:
        self._characters += len(text)
        if not may_hold_long_atom(text):
            return
        for atom in atoms(text):
            if atom.length >= LONG_ATOM and not atom.is_handle:
                address = text[atom.start : atom.end]
                self._numbers.setdefault(address, len(self._numbers) + 1)


def may_hold_long_atom(text: str) -> bool:
    return _LONG_RUN.search(text) is not None


async def read_links(conversations: ConversationReader, conversation_id: str) -> Links:
    """Number the long atoms of a conversation, from its first turn on."""
    links = Links(conversation_id)
    read, window = 0, FIRST_WINDOW
    while read < LINKED_TURNS and not links.is_full:
        turns = await conversations.read_turns(conversation_id, after=read, limit=window)
        for turn in turns:
            if turn.turn > LINKED_TURNS or links.is_full:
                return links
            links.add_turn(turn.messages)
        if len(turns) < window:
            return links
        read, window = turns[-1].turn, next_window(window, turns)
    return links


class LinkReader:
    """The numbers of one conversation, read at most once, and only for turns that need them."""

    def __init__(self, conversations: ConversationReader, conversation_id: str) -> None:
        self._conversations = conversations
        self._conversation_id = conversation_id
        self._links: Links | None = None

    async def links_for(self, turns: Sequence[ConversationTurn]) -> Links:
        if self._links is None and any(_needs_links(turn) for turn in turns):
            self._links = await read_links(self._conversations, self._conversation_id)
        return self._links or Links(self._conversation_id)


def _needs_links(turn: ConversationTurn) -> bool:
    return any(_holds_long_atom(text) for text in _texts(turn.messages))


def _holds_long_atom(text: str) -> bool:
    return may_hold_long_atom(text) and any(
        atom.length >= LONG_ATOM and not atom.is_handle for atom in atoms(text)
    )


def _texts(messages: Sequence[Message]) -> Iterator[str]:
    """In the order in which numbers are given: each text, then the arguments of its calls."""
    for message in shown(messages):
        yield message_text(message)
        for call in message.tool_calls:
            yield from argument_strings(call)
