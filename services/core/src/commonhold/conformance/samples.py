"""Names, texts and messages that the kits use."""

from typing import Any, cast

from commonhold.contract.messages import (
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    Role,
    TextBlock,
    ToolCall,
)

SCOPE = "user:ada"
SUB_SCOPE = "user:ada/proj:erp"
OTHER_SCOPE = "user:bob"
PATH = "notes/a"
OTHER_PATH = "notes/b"
THREAD = "thread-a"
OTHER_THREAD = "thread-b"
NEVER_WRITTEN = "never-written"

# Beyond 32 bits, beyond 64, and beyond any machine word.
HUGE_NUMBERS = (2**31, 2**63, 2**100)

BAD_SCOPES = (
    "",
    "user",
    "user:",
    "User:1",
    "user:a b",
    "user:a\n",
    "/user:a",
    "user:a//user:b",
    "user:..",
    "/".join(f"s:{number}" for number in range(9)),
    "s:" + "a" * 511,
)
BAD_PATHS = (
    "",
    "/a",
    "a/",
    "a//b",
    "a b",
    "a\\b",
    "a\n",
    "\N{LATIN SMALL LETTER E WITH ACUTE}",
    "a:b",
    ".",
    "a/../b",
    "a" * 129,
    "/".join(["a"] * 17),
    "a/" * 256 + "a",
)
BAD_CONVERSATION_IDS = (
    "",
    "a/b",
    "user:1",
    "a b",
    "a\n",
    "\N{LATIN SMALL LETTER E WITH ACUTE}",
    ".",
    "..",
    "a" * 129,
)

CONTENTS = (
    "",
    "x",
    "x\n",
    "\n",
    "a\r\nb",
    "a\rb",
    "---\ntitle: x\n---\nbody",
    "\N{LATIN SMALL LETTER E WITH ACUTE}\N{OLD PERSIAN SIGN AURAMAZDAA}\N{GRINNING FACE}",
    "e\N{COMBINING ACUTE ACCENT}\N{LINE SEPARATOR}\N{ZERO WIDTH NO-BREAK SPACE}",
    " \t leading and trailing \t ",
    "100% 'quoted' \"twice\" \\ back $1 ? :name",
    "\x01\x1f\x7f",
)

# Stored actors are opaque: none of these is read by a store.
ACTORS = ("client:default/me", "", "two words", "conv:abc#4", "\N{GREEK SMALL LETTER ALPHA}\n#/")

UNSTORABLE_TEXTS = ("a\x00b", "a\ud800b")


def says(text: str | None, *, role: Role = "user") -> Message:
    return Message(role=role, content=text)


MESSAGE_PAYLOADS: dict[str, tuple[Message, ...]] = {
    "plain": (says("hello"),),
    "empty": (says(""),),
    "null": (says(None, role="assistant"),),
    "reasoning": (Message(role="assistant", content=None, reasoning="because"),),
    "tool-calls": (
        says("find both"),
        Message(
            role="assistant",
            content=None,
            tool_calls=(
                ToolCall(id="c1", name="lookup", arguments={"query": "sextant"}),
                ToolCall(id="", name="", arguments={}, extra={"google": {"sig": "x"}}),
            ),
        ),
        Message(role="tool", content="found", tool_call_id="c1"),
    ),
    "image-url": (
        Message(role="user", content=(TextBlock(text="see"), ImageBlock(url="https://e.test/i"))),
    ),
    "image-data": (
        Message(role="user", content=(ImageBlock(media_type="image/png", data="aGk=aGk="),)),
    ),
    "document": (
        Message(
            role="user",
            content=(
                DocumentBlock(media_type="application/pdf", data="aGk="),
                DocumentBlock(media_type="text/plain", url=""),
            ),
        ),
    ),
    "compaction": (
        Message(
            role="assistant",
            content=(CompactionBlock(content="so far"), CompactionBlock(encrypted_content="zz")),
        ),
    ),
    "no-blocks": (Message(role="user", content=()),),
    "odd-text": (says("---\r\nfence\r \N{LATIN SMALL LETTER E WITH ACUTE}\N{GRINNING FACE}\n"),),
    "extra": (Message(role="system", content="x", extra={"k": 1, "a": [None, True, "z"]}),),
    "extra-not-an-object": (Message(role="system", content="x", extra=[1, "two"]),),
}


# Records made by hand, and what the codec makes of their JSON.
UNSETTLED_MESSAGES: dict[str, tuple[Message, Message]] = {
    "an empty tool_call_id": (
        Message(role="tool", content="x", tool_call_id=""),
        Message(role="tool", content="x"),
    ),
    "an empty extra": (Message(role="user", extra={}), Message(role="user")),
    "a null extra": (Message(role="user", extra=None), Message(role="user")),
    "an empty extra of a call": (
        Message(role="assistant", tool_calls=(ToolCall(id="1", name="n", extra={}),)),
        Message(role="assistant", tool_calls=(ToolCall(id="1", name="n"),)),
    ),
    "white space in data": (
        Message(role="user", content=(ImageBlock(media_type="a/b", data="aGk=\n aGk="),)),
        Message(role="user", content=(ImageBlock(media_type="a/b", data="aGk=aGk="),)),
    ),
}
REFUSED_MESSAGES: dict[str, Message] = {
    "'robot' is not a valid Role": Message(role=cast(Any, "robot"), content="x"),
    "ImageBlock requires exactly one of 'data' or 'url'": Message(
        role="user", content=(TextBlock(text="x"), ImageBlock())
    ),
    "DocumentBlock requires exactly one of 'data' or 'url'": Message(
        role="user", content=(DocumentBlock(media_type="a/b", data="aGk=", url="u"),)
    ),
    "ImageBlock requires media_type with base64 data": Message(
        role="user", content=(ImageBlock(data="aGk="),)
    ),
}
