"""The contents that every case sends."""

import random
from functools import cache
from itertools import islice

from bench.corpus import Corpus
from commonhold.contract.messages import Message

CONTENT_BYTES = 1024


def content(size: int = CONTENT_BYTES, *, seed: int = 0) -> str:
    """Text of that many characters, a byte each, that no compression makes small."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789 "
    return "".join(random.Random(seed).choices(letters, k=size))


def user_message(text: str) -> Message:
    return Message(role="user", content=text)


@cache
def turn_messages() -> tuple[Message, ...]:
    """A question and an answer in the words of the corpus, about 500 characters in all."""
    question, answer = islice(Corpus(1_000, seed=1).texts(), 2)
    return (
        Message(role="user", content=question[:100]),
        Message(role="assistant", content=answer),
    )
