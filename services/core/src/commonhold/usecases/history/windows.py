"""How many turns are read at once: few at first, more while they are light.

A turn may be as heavy as a request body, so a fixed number would be either slow or, for a
conversation of such turns, more than a process holds.
"""

from collections.abc import Sequence

from commonhold.contract.messages import encode_messages
from commonhold.contract.turns import ConversationTurn

FIRST_WINDOW = 8
LARGEST_WINDOW = 128
LIGHT_BYTES = 1_000_000


def next_window(size: int, turns: Sequence[ConversationTurn]) -> int:
    """The size after a window of `size` turns that held these."""
    weight = sum(len(encode_messages(turn.messages)) for turn in turns)
    return min(size * 2, LARGEST_WINDOW) if weight < LIGHT_BYTES else max(1, size // 8)
