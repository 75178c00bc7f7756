"""Roots in which something that no store makes stands where a file or a folder of one would."""

import asyncio
import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from structlog.testing import capture_logs

from commonhold.adapters.file import FileStore
from commonhold.contract import CommonholdError, ConversationProjection, Message
from tests.support.roots import temporary_root

HELLO = (Message(role="user", content="hello"),)
ENTRY = ConversationProjection(turn=1, kind="log", text="x")
NOBODY = 65534
LOCK = ".store.lock"
SCOPE = "u%3Ax"
CONVERSATION = "conversations/c"

Call: TypeAlias = Callable[[FileStore], Awaitable[object]]
Plant: TypeAlias = Callable[[Path], object]


def linked_to(target: str) -> Plant:
    return lambda place: place.symlink_to(target)


def full_folder(place: Path) -> None:
    place.mkdir()
    (place / "theirs").write_text("theirs")


KINDS: Mapping[str, Plant] = {
    "file": lambda place: place.write_text("theirs"),
    "folder": full_folder,
    "pipe": os.mkfifo,
    "device": lambda place: os.mknod(place, stat.S_IFCHR | 0o600, os.makedev(1, 3)),
    "link away": linked_to("/etc"),
    "link in a loop": lambda place: place.symlink_to(place.name),
}

FILES = (
    LOCK,
    f"{SCOPE}/documents/n/a.md",
    f"{SCOPE}/versions/n/a.jsonl",
    f"{SCOPE}/redactions.jsonl",
    f"{CONVERSATION}/turns.jsonl",
    f"{CONVERSATION}/projections.jsonl",
    f"{CONVERSATION}/redactions.jsonl",
)
FOLDERS = (
    SCOPE,
    f"{SCOPE}/documents",
    f"{SCOPE}/documents/n",
    f"{SCOPE}/versions",
    f"{SCOPE}/versions/n",
    "conversations",
    CONVERSATION,
)


@contextmanager
def filled_root() -> Iterator[Path]:
    """A root with something at every place."""
    with temporary_root() as root:
        asyncio.run(fill(root))
        yield root


async def fill(root: Path) -> None:
    async with FileStore(root) as store:
        for text in ("one", "two"):
            await store.write("u:x", "n/a", text)
            await store.write("u:x", "m/b", text)
            await store.append_turn("c", HELLO)
        await store.append_projections("c", [ENTRY])
        await store.write("u:x", "m/erased", "x")
        await store.redact("u:x", path="m/erased")
        await store.redact_turns("c", turns=[2])


@contextmanager
def copy_for_nobody(filled: Path) -> Iterator[Path]:
    """A copy of the root, all of it of a user to whom the system denies things."""
    with temporary_root() as root:
        shutil.copytree(filled, root)
        root.parent.chmod(0o711)
        for entry in (root, *root.rglob("*")):
            give_to_nobody(entry)
        yield root


def give_to_nobody(entry: Path) -> None:
    """Who is not root is denied things as it is."""
    if os.geteuid() == 0:
        os.chown(entry, NOBODY, NOBODY)


@contextmanager
def nobody() -> Iterator[None]:
    """Be a user to whom the system denies things."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@contextmanager
def planted(filled: Path, place: str, kind: str) -> Iterator[Path]:
    """A copy of the root with the wrong thing at a place, and what belonged there beside it."""
    with temporary_root() as root:
        shutil.copytree(filled, root)
        (root / place).rename(root.with_name("aside"))
        KINDS[kind](root / place)
        yield root


def put_back(root: Path, place: str) -> None:
    wrong = root / place
    if wrong.is_dir() and not wrong.is_symlink():
        shutil.rmtree(wrong)
    else:
        wrong.unlink(missing_ok=True)
    root.with_name("aside").rename(wrong)


async def told_by(store: FileStore, call: Call) -> str | None:
    """All that a refusal says, to its caller and in the log; None for a call that was answered."""
    with capture_logs() as logs:
        try:
            await call(store)
        except CommonholdError as error:
            return f"{error} {getattr(error, '__notes__', '')} {logs}"
    return None
