"""What a pass did, left alone and could not do (docs/reference/maintenance.md, section 5)."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from commonhold.usecases.upkeep import protections

Fence: TypeAlias = Literal["conditional", "reread"]

# For metrics, whose labels come from a closed set; a refusal's own text names paths.
SKIP_LABELS = {
    protections.STATE: "state",
    protections.REDACTED: "redacted",
    protections.FRESH: "fresh",
    protections.NOT_SHOWN: "not_shown",
    protections.UNLISTED: "unlisted",
    protections.CHANGED: "changed",
    protections.KEEPER_CHANGED: "keeper_changed",
    protections.HELD: "held",
    protections.ERASED: "erased",
    protections.OVERTAKEN: "overtaken",
    protections.CIRCUIT_OPEN: "circuit_open",
    protections.RATE_LIMITED: "rate_limited",
}
REFUSED = "refused"
# Longer than any path that a document has, with what a refusal says about it.
MOST_CHARACTERS = 1000


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """One change. `version` is the live one after it, None for a deletion."""

    command: str
    path: str
    version: int | None = None

    def __str__(self) -> str:
        return f"{self.command} {self.path}" + (f" (v{self.version})" if self.version else "")


class Skip(msgspec.Struct, frozen=True, kw_only=True):
    """One action that a protection, a refusal or another writer prevented.

    `path` may be any text that a model came up with; `document` is the one it was told of,
    None where it named another.
    """

    command: str
    path: str
    reason: str
    document: str | None = None

    @property
    def label(self) -> str:
        return SKIP_LABELS.get(self.reason, REFUSED)


class MountFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A mount whose turn ended early; the others had theirs. `reason` is an error's code."""

    path: str
    reason: str


class ModelUse(msgspec.Struct, frozen=True, kw_only=True):
    """What the semantic stage took. `degraded` says why nothing of a reply was carried out.

    `put_off_seconds` is there when the model was not to be asked: until when not, or 0.
    """

    model: str | None = None
    usage: Mapping[str, Any] | None = None
    cost_micro_usd: int | None = None
    degraded: str | None = None
    put_off_seconds: float | None = None


class PassReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one pass; its JSON has the fields in this order.

    `fence` says what stood between the plan and other writers: the store's conditional
    mutations, or no more than a look immediately before each act.
    """

    writes: tuple[Write, ...] = ()
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    cost_micro_usd: int | None = None
    degraded: str | None = None
    skipped: tuple[Skip, ...] = ()
    failed: tuple[MountFailure, ...] = ()
    dry_run: bool = False
    fence: Fence = "conditional"
    put_off_seconds: float | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every mount and every stage had its turn."""
        return self.degraded is None and not self.failed


def in_a_line(text: str) -> str:
    """What a model or its server said, fit for a report: printable, and cut where it is long."""
    if len(text) <= MOST_CHARACTERS and text.isprintable():
        return text
    shown = (mark if mark.isprintable() else "\ufffd" for mark in text[:MOST_CHARACTERS])
    return "".join(shown) + ("…" if len(text) > MOST_CHARACTERS else "")


class PassLog:
    """The report of a pass that is still running."""

    def __init__(self) -> None:
        self.writes: list[Write] = []
        self.skipped: list[Skip] = []
        self.failed: list[MountFailure] = []

    def wrote(self, command: str, path: str, version: int | None = None) -> None:
        self.writes.append(Write(command=command, path=in_a_line(path), version=version))

    def skip(self, command: str, path: str, reason: str, *, document: str | None) -> None:
        self.skipped.append(
            Skip(command=command, path=in_a_line(path), reason=in_a_line(reason), document=document)
        )

    def fail(self, path: str, reason: str) -> None:
        self.failed.append(MountFailure(path=path, reason=reason))
