"""Overwrites of a FileStore, beside a bare loop that writes and syncs as much.

One call at a time and both in one process and one directory, in turns of a few calls, so that
neither meets another disk than the other. The event loop is the one that the services run.
"""

import os
import tempfile
from pathlib import Path
from statistics import median

import uvloop

from bench import names, texts
from bench.context import Bench
from bench.findings import Finding, Report, Target
from bench.summaries import Round, side_of
from bench.turns import Call, in_turns
from commonhold.adapters.file import FileStore

_RATIO = Target(at_least=0.8)
_BARE, _STORE = "bare loop", "FileStore"


class BareLoop:
    """The syncs of an overwrite and the bytes between them, and nothing that a store decides."""

    def __init__(self, folder: Path, content: bytes) -> None:
        folder.mkdir()
        self._content = content
        self._draft, self._document = f"{folder}/draft", f"{folder}/document"
        self._intent = os.open(f"{folder}/intent", os.O_CREAT | os.O_WRONLY)
        self._history = os.open(f"{folder}/history", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self._folder = os.open(folder, os.O_RDONLY)

    def write(self) -> None:
        draft = os.open(self._draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.write(draft, self._content)
        os.fsync(draft)
        os.close(draft)
        os.pwrite(self._intent, bytes(200), 1)
        os.fsync(self._intent)
        os.write(self._history, self._content)
        os.fsync(self._history)
        Path(self._draft).replace(self._document)
        os.fsync(self._folder)
        os.ftruncate(self._intent, 1)

    async def overwrite(self) -> None:
        self.write()

    def close(self) -> None:
        for descriptor in (self._intent, self._history, self._folder):
            os.close(descriptor)


def overwrites(bench: Bench) -> Report:
    """Overwrites of a document of 1 KiB."""
    findings, rounds = uvloop.run(_measure(bench))
    return Report(case="files", findings=findings, rounds=rounds)


async def _measure(bench: Bench) -> tuple[list[Finding], list[Round]]:
    content = texts.content(texts.CONTENT_BYTES)
    scope, path = names.scope(0), names.path(0)
    with tempfile.TemporaryDirectory(dir=".") as home:
        bare = BareLoop(Path(home) / "bare", content.encode())
        async with FileStore(Path(home) / "root") as store:
            calls: dict[str, Call] = {
                _BARE: bare.overwrite,
                _STORE: lambda: store.write(scope, path, content),
            }
            rounds = [
                one
                for number in range(bench.scale.flat_rounds)
                for one in await in_turns(calls, number=number, bench=bench)
            ]
        bare.close()
    return [_ratio(rounds)], rounds


def _ratio(rounds: list[Round]) -> Finding:
    bare, ours = side_of(rounds, _BARE), side_of(rounds, _STORE)
    halves = ([one.p50_ms or 0.0 for one in rounds if one.side == side] for side in (_BARE, _STORE))
    return Finding(
        what="files: overwrites of FileStore / a bare loop with as many syncs",
        value=median(one / other for one, other in zip(*halves, strict=True)),
        target=_RATIO,
        notes=f"p50 {ours.p50_ms:.3f} ms and {bare.p50_ms:.3f} ms, one call at a time",
    )
