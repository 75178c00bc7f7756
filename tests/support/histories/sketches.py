"""Clean histories written by hand, for tests that spoil them to see the checkers object."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from commonhold.contract.documents import (
    MemoryDocument,
    MemoryRedaction,
    MemoryVersion,
    ScopeArchive,
    VersionAction,
)
from tests.support.histories.conversations import ConversationState
from tests.support.histories.erasures import secret_of
from tests.support.histories.records import Answered, Attempt, Outcome, Refused, Unknown
from tests.support.histories.timelines import CLIENT

SCOPE = "race:sketch"
CONVERSATION = "sketch"
EPOCH = datetime(2030, 1, 1, tzinfo=UTC)


def stamp(second: int) -> datetime:
    return EPOCH + timedelta(seconds=second)


class ScopeSketch:
    """Acts by name, rows by (path, version), heads by path: all open to be spoilt."""

    def __init__(self) -> None:
        self.attempts: dict[str, Attempt] = {}
        self.rows: dict[tuple[str, int], MemoryVersion] = {}
        self.live: dict[str, MemoryDocument] = {}
        self.trail: list[MemoryRedaction] = []

    @property
    def history(self) -> list[Attempt]:
        return list(self.attempts.values())

    @property
    def state(self) -> ScopeArchive:
        return ScopeArchive(
            scope=SCOPE,
            documents=tuple(self.live.values()),
            versions=tuple(self.rows.values()),
            redactions=tuple(self.trail),
        )

    def attempt(
        self, name: str, route: str, span: tuple[int, int], outcome: Outcome, **request: Any
    ) -> None:
        self.attempts[name] = Attempt(
            name=name,
            route=f"memory/{route}",
            request={"scope": SCOPE, **request},
            began=span[0],
            ended=span[1],
            outcome=outcome,
        )

    def row(self, place: tuple[str, int], action: VersionAction, maker: str, content: str) -> None:
        """Add a row stamped with the beginning of its maker's attempt."""
        self.rows[place] = MemoryVersion(
            path=place[0],
            version=place[1],
            action=action,
            content=content,
            actor=f"{CLIENT}{maker}",
            created_at=stamp(self.attempts[maker].began),
        )

    def spoil_attempt(self, name: str, **changes: Any) -> None:
        self.attempts[name] = msgspec.structs.replace(self.attempts[name], **changes)

    def spoil_row(self, place: tuple[str, int], **changes: Any) -> None:
        self.rows[place] = msgspec.structs.replace(self.rows[place], **changes)

    def spoil_live(self, path: str, **changes: Any) -> None:
        self.live[path] = msgspec.structs.replace(self.live[path], **changes)

    def answer_of(self, name: str) -> dict[str, Any]:
        outcome = self.attempts[name].outcome
        assert isinstance(outcome, Answered)
        return outcome.answer


def written(path: str, version: int, maker: str, content: str) -> Answered:
    document = {"path": path, "version": version, "content": content, "redacted": False}
    return Answered(answer={"document": {**document, "actor": f"{CLIENT}{maker}"}})


def mismatch(path: str, expected: int, actual: int | None) -> Refused:
    reason = "document_absent" if actual is None else "version_mismatch"
    details = {"path": path, "reason": reason, "expected_version": expected}
    return Refused(code="memory_conflict", details={**details, "actual_version": actual})


def sketch_scope() -> ScopeSketch:
    """Two paths: `a` is written, contested, deleted, born again and moved to `b`, then erased."""
    sketch = ScopeSketch()
    first, second, third, lost, last = (secret_of(name) for name in ("w1", "w2", "w3", "u1", "w4"))
    sketch.attempt("w1", "write", (0, 10), written("a", 1, "w1", first), path="a", content=first)
    sketch.attempt(
        *("w2", "write", (20, 30), written("a", 2, "w2", second)),
        path="a",
        content=second,
        expected_version=1,
    )
    sketch.attempt(
        *("c1", "write", (25, 35), mismatch("a", 1, 2)),
        path="a",
        content="lost",
        expected_version=1,
    )
    sketch.attempt("r1", "read", (40, 50), written("a", 2, "w2", second), path="a")
    sketch.attempt("d1", "delete", (60, 70), Answered(answer={"deleted": True}), path="a")
    sketch.attempt("r2", "read", (75, 78), Answered(answer={"document": None}), path="a")
    sketch.attempt("w3", "write", (80, 90), written("a", 4, "w3", third), path="a", content=third)
    sketch.attempt("m1", "rename", (100, 110), written("b", 1, "m1", third), src="a", dst="b")
    sketch.attempt("u1", "write", (120, 130), Unknown(why="503"), path="b", content=lost)
    sketch.attempt("u2", "write", (121, 131), Unknown(why="503"), path="b", content="never")
    sketch.attempt("e1", "redact", (140, 150), Answered(answer={"count": 1}), path="b")
    sketch.attempt("w4", "write", (160, 170), written("b", 3, "w4", last), path="b", content=last)
    sketch.row(("a", 1), "created", "w1", first)
    sketch.row(("a", 2), "modified", "w2", second)
    sketch.row(("a", 3), "deleted", "d1", second)
    sketch.row(("a", 4), "created", "w3", third)
    sketch.row(("a", 5), "deleted", "m1", third)
    sketch.row(("b", 1), "created", "m1", "")
    sketch.row(("b", 2), "modified", "u1", "")
    sketch.row(("b", 3), "modified", "w4", last)
    sketch.spoil_row(("b", 1), redacted=True)
    sketch.spoil_row(("b", 2), redacted=True)
    sketch.live["b"] = MemoryDocument(
        scope=SCOPE,
        path="b",
        content=last,
        version=3,
        created_at=stamp(100),
        updated_at=stamp(160),
        actor=f"{CLIENT}w4",
    )
    entry = MemoryRedaction(path="b", actor=f"{CLIENT}e1", created_at=stamp(140), count=1)
    sketch.trail.append(entry)
    return sketch


class ConversationSketch:
    """Acts by name, turns and projections as rows of the wire: all open to be spoilt."""

    def __init__(self) -> None:
        self.attempts: dict[str, Attempt] = {}
        self.turns: list[dict[str, Any]] = []
        self.projections: list[dict[str, Any]] = []
        self.trail: list[dict[str, Any]] = []

    @property
    def history(self) -> list[Attempt]:
        return list(self.attempts.values())

    @property
    def state(self) -> ConversationState:
        return ConversationState(
            conversation_id=CONVERSATION,
            turns=self.turns,
            projections=self.projections,
            redactions=self.trail,
        )

    def attempt(
        self, name: str, route: str, span: tuple[int, int], outcome: Outcome, **request: Any
    ) -> None:
        self.attempts[name] = Attempt(
            name=name,
            route=f"conversation/{route}",
            request={"conversation_id": CONVERSATION, **request},
            began=span[0],
            ended=span[1],
            outcome=outcome,
        )

    def append(self, name: str, span: tuple[int, int], *, known: bool = True) -> None:
        messages = [{"role": "user", "content": secret_of(name)}]
        turn = {
            "turn": len(self.turns) + 1,
            "messages": messages,
            "created_at": stamp(span[0]).isoformat(),
            "actor": f"{CLIENT}{name}",
            "redacted": False,
        }
        outcome = Answered(answer={"turn": dict(turn)}) if known else Unknown(why="reset")
        self.attempt(name, "append_turn", span, outcome, messages=messages)
        self.turns.append(turn)

    def project(self, name: str, span: tuple[int, int], *, size: int = 2) -> None:
        texts = [f"{secret_of(name)} {index}" for index in range(size)]
        entries = [{"turn": 1, "kind": "log", "text": text} for text in texts]
        self.attempt(name, "append_projections", span, Answered(answer={}), entries=entries)
        self.projections += [{**entry, "span": 1} for entry in entries]

    def spoil_attempt(self, name: str, **changes: Any) -> None:
        self.attempts[name] = msgspec.structs.replace(self.attempts[name], **changes)

    def blank_turn(self, number: int) -> None:
        self.turns[number - 1] |= {"messages": [], "redacted": True}


def sketch_conversation() -> ConversationSketch:
    """Four turns, the first two of them erased together with what was derived from them."""
    sketch = ConversationSketch()
    sketch.append("t1", (0, 10))
    sketch.append("t2", (5, 30), known=False)
    sketch.project("p1", (32, 36))
    sketch.attempt("l1", "last_turn_number", (33, 38), Answered(answer={"turn": 2}))
    sketch.attempt("e1", "redact_turns", (40, 50), Answered(answer={"count": 2}))
    for number in (1, 2):
        sketch.blank_turn(number)
    for entry in sketch.projections:
        entry["text"] = ""
    sketch.trail.append(
        {"turns": [1, 2], "actor": f"{CLIENT}e1", "created_at": stamp(40).isoformat()}
    )
    sketch.append("t3", (60, 70))
    sketch.append("t4", (65, 72))
    sketch.project("p2", (74, 76))
    seen = {"turns": [dict(turn) for turn in sketch.turns], "next_after": None}
    sketch.attempt("r1", "read_turns", (80, 90), Answered(answer=seen))
    return sketch
