"""A store of files killed in the middle of every change, some three hundred times a round.

A program, since it forks: `python -m tests.support.file_kills DIRECTORY ROUNDS`. It takes each
change of a run from the same start, and ends the process that makes it (SIGKILL) at each call
of the system, and inside of each write; in the first two rounds, which differ most, whoever
recovers then ends at each of its calls too. What is on
the disk after the next call must be, to the byte, what was there before the change or what the
change makes, and the latter when it was acknowledged.
"""

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import structlog

from commonhold.adapters.file.calls import SystemCalls
from commonhold.adapters.file.changes import Change
from commonhold.adapters.file.conversations import Conversations
from commonhold.adapters.file.documents import Documents
from commonhold.adapters.file.layout import is_temporary
from commonhold.adapters.file.locks import Root
from commonhold.adapters.file.remains import Remains
from commonhold.adapters.file.tree import Tree
from commonhold.adapters.file.units import restore_conversation, restore_scope
from commonhold.contract import (
    Clock,
    ConversationArchive,
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
    MemoryDocument,
    MemoryRedaction,
    MemoryVersion,
    Message,
    ScopeArchive,
)

SCOPE = "u:a/p:x"
THREAD = "chat-1"
LONG = "long \N{GRINNING FACE}\n" * 200
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
STEP = timedelta(milliseconds=1)


class At:
    """A clock that stands: a change has the same time whenever it is made again."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self) -> datetime:
        return self._moment


class Seams:
    """Both seams without their thread, on one clock."""

    def __init__(self, clock: Clock) -> None:
        self.documents = Documents(clock)
        self.turns = Conversations(clock)


Act: TypeAlias = Callable[[Seams, Tree, Change], object]
Files: TypeAlias = Mapping[str, bytes]


def _write(path: str, content: str) -> Act:
    return lambda seams, tree, change: seams.documents.write(
        tree, change, SCOPE, path, content, actor=None, expected_version=None
    )


def _append(text: str) -> Act:
    return lambda seams, tree, change: seams.turns.append_turn(
        tree, change, THREAD, [Message(role="user", content=text)], actor="a"
    )


def _scope_archive() -> ScopeArchive:
    return ScopeArchive(
        scope="u:restored",
        documents=tuple(
            MemoryDocument(
                scope="u:restored",
                path=path,
                content=path,
                version=1,
                created_at=START,
                updated_at=START,
                extra={"kept": [1, {"a": None}]},
            )
            for path in ("a", "deep/er")
        ),
        versions=tuple(
            MemoryVersion(path=path, version=1, action="created", content=path, created_at=START)
            for path in ("a", "deep/er", "gone")
        ),
        redactions=(MemoryRedaction(path=None, actor=None, created_at=START, count=3),),
    )


def _conversation_archive() -> ConversationArchive:
    spoken = (Message(role="user", content="x"),)
    return ConversationArchive(
        conversation_id="restored",
        turns=(
            ConversationTurn(conversation_id="restored", turn=3, messages=spoken, created_at=START),
        ),
        projections=(ConversationProjection(turn=3, kind="log", text="x"),),
        redactions=(
            ConversationRedaction(
                conversation_id="restored", turns=(2,), actor=None, created_at=START
            ),
        ),
    )


# Each change of a store, first on nothing and then on what the others left.
CHANGES: Sequence[Act] = (
    _write("notes/a", "one"),
    _write("notes/a", LONG),
    _write("b", ""),
    lambda seams, tree, change: seams.documents.rename(
        tree, change, SCOPE, "notes/a", "moved/far/away", actor=None
    ),
    lambda seams, tree, change: seams.documents.delete(tree, change, SCOPE, "b", actor=None),
    _write("b", "again"),
    lambda seams, tree, change: seams.documents.redact(
        tree, change, SCOPE, path="notes/a", actor="op"
    ),
    lambda seams, tree, change: seams.documents.redact(tree, change, SCOPE, path=None, actor=None),
    _write("b", "after"),
    _append("first"),
    _append(LONG),
    lambda seams, tree, change: seams.turns.append_projections(
        tree,
        change,
        THREAD,
        [ConversationProjection(turn=n, kind="log", text=f"p{n}") for n in (1, 2)],
    ),
    lambda seams, tree, change: seams.turns.redact_turns(
        tree, change, THREAD, through=1, turns=None, actor=None
    ),
    _append("third"),
)
# Between the first round and the others, which find histories and trails already.
BETWEEN: Sequence[Act] = (
    lambda _seams, tree, change: restore_scope(tree, change, _scope_archive()),
    lambda _seams, tree, change: restore_conversation(tree, change, _conversation_archive()),
)
TIDY: Act = lambda seams, tree, change: seams.documents.delete(  # noqa: E731 - one of its kind
    tree, change, SCOPE, "moved/far/away", actor=None
)


def run_of(rounds: int) -> Sequence[Act]:
    again = [act for _ in range(rounds - 1) for act in (TIDY, *CHANGES)]
    return [*CHANGES, *BETWEEN, *again]


# How many of its bytes a write still writes.
Cut: TypeAlias = Callable[[int], int]
CUTS: Sequence[Cut] = (
    lambda _length: 1,
    lambda length: length // 2,
    lambda length: length - 1,
)


class EndedError(BaseException):
    """The end of a recovery, which holds nothing but descriptors: as good as that of a process."""


def end_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def end_recovery() -> None:
    raise EndedError


class KillingCalls(SystemCalls):
    """Comes to an end before one of its calls, or with a `cut` inside of one of its writes."""

    def __init__(
        self, at: int, *, cut: Cut | None = None, end: Callable[[], None] = end_process
    ) -> None:
        self._left = at
        self._cut = cut
        self._end = end

    def _count(self) -> None:
        if self._cut is None:
            self._left -= 1
            if self._left == 0:
                self._end()

    def create(self, path: str) -> int:
        self._count()
        return super().create(path)

    def open_to_grow(self, path: str) -> int:
        self._count()
        return super().open_to_grow(path)

    def write(self, fd: int, data: bytes, *, offset: int) -> int:
        self._count()
        if self._cut is not None:
            self._left -= 1
            if self._left == 0:
                os.pwrite(fd, data[: self._cut(len(data))], offset)
                self._end()
        return super().write(fd, data, offset=offset)

    def sync(self, fd: int) -> None:
        self._count()

    def sync_folder(self, path: str) -> None:
        self._count()

    def truncate(self, fd: int, *, length: int) -> None:
        self._count()
        super().truncate(fd, length=length)

    def move(self, source: str, target: str) -> None:
        self._count()
        super().move(source, target)

    def remove(self, path: str) -> None:
        self._count()
        super().remove(path)

    def make_folder(self, path: str) -> None:
        self._count()
        super().make_folder(path)


class Yard:
    """One directory, put back to its start before each kill."""

    def __init__(self, home: Path) -> None:
        self._root = home / "root"
        self._root.mkdir()
        self.kills = 0
        self.ended_recoveries = 0

    def reset(self, files: Files) -> None:
        """These files and the folders above them, by changing what differs: it is done often."""
        there, folders = self._scan()
        wanted = {above for name in files for above in _folders_above(name)}
        for name in there.keys() - files.keys():
            (self._root / name).unlink()
        for folder in sorted(folders - wanted, reverse=True):
            (self._root / folder).rmdir()
        for folder in sorted(wanted - folders):
            (self._root / folder).mkdir()
        for name, data in files.items():
            if there.get(name) != data:
                (self._root / name).write_bytes(data)

    def wreck(self) -> Files:
        """All that is there."""
        return self._scan()[0]

    def _scan(self) -> tuple[dict[str, bytes], set[str]]:
        files: dict[str, bytes] = {}
        folders: set[str] = set()
        left = [""]
        while left:
            folder = left.pop()
            for entry in os.scandir(f"{self._root}/{folder}"):
                name = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir():
                    folders.add(name)
                    left.append(name)
                else:
                    files[name] = Path(entry.path).read_bytes()
        return files, folders

    def make(self, act: Act, number: int, calls: SystemCalls) -> None:
        """The change of that number in the run, at the time it would have there."""
        clock = At(START + number * STEP)
        remains = Remains()
        with Root(self._root, calls=calls, wait_seconds=1).changing(remains) as (tree, change):
            act(Seams(clock), tree, change)
        remains.let_go()

    def recover(self, calls: SystemCalls) -> None:
        with Root(self._root, calls=calls, wait_seconds=1).reading():
            pass

    def files(self) -> Files:
        """What is there, but for what everybody ignores."""
        held = self.wreck()
        return {name: held[name] for name in held if not is_temporary(name.rpartition("/")[2])}

    def survives(self, work: Callable[[SystemCalls], None], calls: SystemCalls) -> bool:
        """Work in a process of its own; whether it came to its end."""
        child = os.fork()
        if child == 0:
            try:
                work(calls)
            except BaseException:  # noqa: BLE001 - a fork must not go on as its parent
                os._exit(3)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            self.kills += 1
            return False
        if os.waitstatus_to_exitcode(status) != 0:
            raise AssertionError("a change failed without being killed")
        return True


def _folders_above(name: str) -> Iterator[str]:
    while name := name.rpartition("/")[0]:
        yield name


def kill_everywhere(yard: Yard, *, rounds: int) -> None:
    """Raise AssertionError where a kill leaves anything but a whole change or none."""
    before: Files = {".store.lock": b"\x00"}
    for number, act in enumerate(run_of(rounds)):
        yard.reset(before)
        yard.make(act, number, SystemCalls())
        after = yard.files()
        for cut in (None, *CUTS):
            for at, wreck in _kill_change(yard, act, number, before=before, after=after, cut=cut):
                found = _recovered(yard, number, at)
                _require(found in (before, after), number, at, "neither made nor unmade")
                if number < len(run_of(2)):
                    _end_recovery(yard, number, at, wreck=wreck, expected=found)
        before = after


def _kill_change(
    yard: Yard, act: Act, number: int, *, before: Files, after: Files, cut: Cut | None
) -> Iterator[tuple[int, Files]]:
    """Where the change was killed, and what that left."""

    def work(calls: SystemCalls) -> None:
        yard.make(act, number, calls)

    at = 0
    while True:
        at += 1
        yard.reset(before)
        if yard.survives(work, KillingCalls(at, cut=cut)):
            _require(yard.files() == after, number, at, "acknowledged and lost")
            return
        yield at, yard.wreck()


def _end_recovery(yard: Yard, number: int, at: int, *, wreck: Files, expected: Files) -> None:
    """Whoever recovers ends at each of its calls too; the next one finishes it all the same."""
    step = 0
    while True:
        step += 1
        yard.reset(wreck)
        try:
            yard.recover(KillingCalls(step, end=end_recovery))
        except EndedError:
            yard.ended_recoveries += 1
            found = _recovered(yard, number, at)
            _require(found == expected, number, at, f"a recovery that ended at {step} differs")
        else:
            return


def _recovered(yard: Yard, number: int, at: int) -> Files:
    yard.recover(SystemCalls())
    found = yard.files()
    _require(found[".store.lock"] == b"\x00", number, at, "an intent is left")
    return found


def _require(holds: bool, number: int, at: int, fault: str) -> None:  # noqa: FBT001 - named at every call
    if not holds:
        raise AssertionError(f"change {number} killed at call {at}: {fault}")


def main() -> None:
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    # What is here already is not looked at again in every fork.
    gc.freeze()
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as home:
        yard = Yard(Path(home))
        kill_everywhere(yard, rounds=int(sys.argv[2]))
    print(yard.kills, yard.ended_recoveries)


if __name__ == "__main__":
    main()
