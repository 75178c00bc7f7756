"""The ledger of a scope laid beside the acts that made it, path by path."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from commonhold.contract.documents import MemoryDocument, MemoryVersion, ScopeArchive
from tests.support.histories.records import Act

CLIENT = "client:default/"
"""What the service puts before the actor that a request names."""


def maker_of(actor: str | None) -> str:
    return (actor or "").removeprefix(CLIENT)


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """One path: its rows ascending, and who made each.

    State n is what row n left; state 0 is nothing. `places` are the states of absence and of
    presence, and `order` says where in the rows a maker first stands.
    """

    path: str
    rows: tuple[MemoryVersion, ...]
    live: MemoryDocument | None
    makers: list[str]
    places: dict[bool, list[int]]
    order: dict[str, int]

    def is_live(self, state: int) -> bool:
        return 1 <= state <= len(self.rows) and self.rows[state - 1].action != "deleted"

    def states(self, *, live: bool) -> list[int]:
        return self.places[live]


def draw(path: str, rows: Iterable[MemoryVersion], live: MemoryDocument | None) -> Timeline:
    ordered = tuple(sorted(rows, key=lambda row: row.version))
    makers = [maker_of(row.actor) for row in ordered]
    alive = [n for n, row in enumerate(ordered, start=1) if row.action != "deleted"]
    dead = [0, *(n for n, row in enumerate(ordered, start=1) if row.action == "deleted")]
    return Timeline(
        path=path,
        rows=ordered,
        live=live,
        makers=makers,
        places={True: alive, False: dead},
        order={name: index for index, name in reversed(list(enumerate(makers)))},
    )


class ScopeTimelines(msgspec.Struct, frozen=True, kw_only=True):
    acts: Mapping[str, Act]
    paths: Mapping[str, Timeline]

    def rows(self) -> Iterator[tuple[Timeline, MemoryVersion]]:
        for timeline in self.paths.values():
            for row in timeline.rows:
                yield timeline, row

    def source_of(self, path: str, row: MemoryVersion) -> tuple[str, int] | None:
        """Where the row's content was copied from, as (path, state); None when it was sent."""
        act = self.acts.get(maker_of(row.actor))
        if row.action == "deleted":
            return path, row.version - 1
        if act is None or act.route != "memory/rename":
            return None
        source = self.paths.get(act.request["src"])
        if source is None or act.name not in source.order:
            return None
        return source.path, source.order[act.name]

    def original_content(self, path: str, row: MemoryVersion) -> str | None:
        """What the row held before any erasure; None when the ledger does not let one tell."""
        seen: set[tuple[str, int]] = set()
        while (source := self.source_of(path, row)) is not None:
            path, state = source
            rows = self.paths[path].rows
            if source in seen or not 1 <= state <= len(rows):
                return None
            seen.add(source)
            row = rows[state - 1]
        act = self.acts.get(maker_of(row.actor))
        return None if act is None else _sent_content(act, path=path, row=row)

    def is_copy_of_blank(self, path: str, row: MemoryVersion) -> bool:
        source = self.source_of(path, row)
        if source is None or source[1] < 1:
            return False
        return self.paths[source[0]].rows[source[1] - 1].redacted


def _sent_content(act: Act, *, path: str, row: MemoryVersion) -> str | None:
    if act.route == "store/restore_scope":
        return next(
            (
                str(given["content"])
                for given in act.request["versions"]
                if (given["path"], given["version"]) == (path, row.version)
            ),
            None,
        )
    content = act.request.get("content")
    return None if content is None else str(content)


def lay_out(acts: Mapping[str, Act], state: ScopeArchive) -> ScopeTimelines:
    rows: dict[str, list[MemoryVersion]] = defaultdict(list)
    for row in state.versions:
        rows[row.path].append(row)
    live = {document.path: document for document in state.documents}
    return ScopeTimelines(
        acts=acts,
        paths={
            path: draw(path, rows[path], live.get(path))
            for path in sorted({*rows, *live, *_paths_named(list(acts.values()))})
        },
    )


def _paths_named(acts: Sequence[Act]) -> set[str]:
    named = (act.request.get(key) for act in acts for key in ("path", "src", "dst"))
    return {path for path in named if isinstance(path, str)}
