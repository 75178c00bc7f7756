"""The planting hooks of the kits, as edits of the files of a root."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

NEWER = 2


class PlantsInFiles:
    """A subclass gives the attribute `root`: where the store's files are."""

    root: Path

    async def plant_newer_document(self, store: Any, scope: str, path: str) -> None:
        self._edit_envelope(scope, path, {"neosian_format": NEWER})
        _edit_lines(self._versions(scope, path), lambda row: {**row, "neosian_format": NEWER})

    async def plant_newer_version(self, store: Any, scope: str, path: str, version: int) -> None:
        _edit_lines(
            self._versions(scope, path),
            lambda row: {**row, "neosian_format": NEWER} if row["version"] == version else row,
        )

    async def plant_extra(
        self, store: Any, scope: str, path: str, extra: Mapping[str, Any]
    ) -> None:
        self._edit_envelope(scope, path, extra)

    async def plant_newer_turn(self, store: Any, conversation_id: str, turn: int) -> None:
        self._edit_turn(conversation_id, turn, {"neosian_format": NEWER})

    async def plant_malformed_turn(self, store: Any, conversation_id: str, turn: int) -> None:
        self._edit_turn(conversation_id, turn, {"messages": {"role": "user"}})

    async def plant_newer_projection(self, store: Any, conversation_id: str, turn: int) -> None:
        self._edit_projections(conversation_id, turn, {"neosian_format": NEWER})

    async def plant_malformed_projection(self, store: Any, conversation_id: str, turn: int) -> None:
        self._edit_projections(conversation_id, turn, {"kind": "rumour"})

    def _versions(self, scope: str, path: str) -> Path:
        return self.root / scope.replace(":", "%3A") / "versions" / f"{path}.jsonl"

    def _edit_envelope(self, scope: str, path: str, changes: Mapping[str, Any]) -> None:
        file = self.root / scope.replace(":", "%3A") / "documents" / f"{path}.md"
        _, header, content = file.read_bytes().decode().split("---\n", 2)
        mapping = {**yaml.safe_load(header), **changes}
        dumped = yaml.safe_dump(mapping, sort_keys=False, allow_unicode=True)
        file.write_bytes(f"---\n{dumped}---\n{content}".encode())

    def _edit_turn(self, conversation_id: str, turn: int, changes: Mapping[str, Any]) -> None:
        file = self.root / "conversations" / conversation_id / "turns.jsonl"
        _edit_lines(file, lambda row: {**row, **changes} if row["turn"] == turn else row)

    def _edit_projections(
        self, conversation_id: str, turn: int, changes: Mapping[str, Any]
    ) -> None:
        file = self.root / "conversations" / conversation_id / "projections.jsonl"
        _edit_lines(file, lambda row: {**row, **changes} if row["turn"] == turn else row)


def _edit_lines(file: Path, edit: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
    rows = [edit(json.loads(line)) for line in file.read_bytes().splitlines()]
    file.write_text("".join(f"{json.dumps(row, separators=(',', ':'))}\n" for row in rows))
