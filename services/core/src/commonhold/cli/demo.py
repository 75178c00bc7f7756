"""`commonhold demo`: the main job on real input, over HTTP, as any client would do it.

Every claim of the transcript is checked: the demo fails when an answer is not what it says.
"""

import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from commonhold.cli.client_settings import read_client_token
from commonhold.cli.errors import CommandError, UsageError
from commonhold.cli.local_folder import LocalFolder
from commonhold.cli.markdown_files import (
    MarkdownFile,
    SkippedFile,
    find_markdown,
    read_markdown,
)
from commonhold.cli.mcp_call import call_tool
from commonhold.cli.wire_answers import Turn, TurnAnswer, TurnsAnswer
from commonhold.cli.wire_client import WireClient, WireRefusalError
from commonhold.contract.clock import format_timestamp
from commonhold.contract.documents import MemoryDocument, MemoryVersion
from commonhold.wire.answers import (
    CountAnswer,
    DocumentAnswer,
    EntriesAnswer,
    RedactionsAnswer,
    VersionsAnswer,
)

_ACTOR = "demo:tour"
_GLANCE = 44


class Loaded(msgspec.Struct, frozen=True):
    """What went in: the first document stands for all in the steps that follow."""

    first: MemoryDocument
    documents: int
    size_bytes: int
    skipped: tuple[SkippedFile, ...]


class Gateway(msgspec.Struct, frozen=True):
    """Where agents connect, and the token for it."""

    url: str
    token: str


def connect(folder: LocalFolder, environment: Mapping[str, str], *, url: str | None) -> WireClient:
    """The service at `url` with the client's own token, or the one `commonhold dev` started."""
    if url is not None:
        return WireClient(url, read_client_token(environment))
    running = folder.get_running()
    if running is None:
        raise CommandError("the state service is not running here: start it with `make run`")
    return WireClient(running.url, Path(running.token_file).read_text().strip())


def find_gateway(folder: LocalFolder, *, url: str | None) -> Gateway | None:
    """The gateway that `commonhold dev` started; None for a service named by its URL."""
    running = folder.get_running() if url is None else None
    if running is None or running.mcp_url is None:
        return None
    return Gateway(running.mcp_url, Path(running.token_file).read_text().strip())


def choose_input(named: Path | None, folder: LocalFolder) -> Path:
    """The folder (or file) of Markdown to load: the one named, else this clone's documents."""
    if named is not None:
        if not named.exists():
            raise UsageError(f"{named} does not exist")
        return named
    clone = folder.place.parent
    for candidate in (clone / "docs", clone / "README.md"):
        if candidate.exists():
            return candidate
    raise UsageError("name a folder of Markdown files: there is no docs folder here")


class Demo:
    """One run: a scope and a conversation of its own, so that runs never meet."""

    def __init__(
        self, client: WireClient, console: Console, *, gateway: Gateway | None = None
    ) -> None:
        run = f"{datetime.now(tz=UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        self._client = client
        self._gateway = gateway
        self._console = console
        self._scope = f"demo:run-{run}"
        self._conversation = f"demo-{run}"
        # What the run stores, finds, erases and must not find again.
        self._word = f"heliotrope-{secrets.token_hex(4)}"
        self._steps = 0

    def run(self, root: Path) -> None:
        """Raises CommandError at the first step that does not do what it should."""
        found = self._client.capabilities()
        self._say(f"{self._client.url} speaks wire {found.wire_version} ({found.backend}),")
        self._say(f"and knows the token as {found.client}.")
        loaded = self._load(root)
        self._record()
        self._search()
        edited = self._edit(loaded.first)
        self._show_ledger(edited.path, newest=edited.version)
        self._redact(edited.path)
        self._show_gone(edited.path)
        if self._gateway is not None:
            self._ask_gateway(self._gateway)
        self._say()
        self._console.print("Done: each step was checked against the answers.", style="bold green")
        self._say(f"Look further in scope {self._scope}, conversation {self._conversation}.")

    def _load(self, root: Path) -> Loaded:
        self._title(f"Load the Markdown of {_shown(root)} into scope {self._scope}")
        files, skipped = find_markdown(root)
        loaded = self._write_all(files, skipped)
        for skip in loaded.skipped:
            self._say(f"skipped {_shown(skip.file)}: {skip.reason}")
        listed = self._list_paths()
        _check(len(listed) == loaded.documents, "the listing names what was stored")
        self._say(
            f"{loaded.documents} documents, {loaded.size_bytes / 1024:.1f} KiB, "
            f"{len(loaded.skipped)} skipped"
        )
        back = self._read(loaded.first.path)
        _check(back == loaded.first, "a document reads as it was written")
        self._say(f"memory/read {back.path}: v{back.version}, {len(back.content)} characters, same")
        return loaded

    def _write_all(self, files: list[MarkdownFile], skipped: list[SkippedFile]) -> Loaded:
        skipped = list(skipped)
        stored: list[MemoryDocument] = []
        size = 0
        with self._progress() as progress:
            for markdown in progress.track(files, description="memory/write"):
                try:
                    text = read_markdown(markdown.file)
                    stored.append(self._write(markdown.path, text, expected_version=None))
                except (OSError, ValueError) as error:
                    skipped.append(SkippedFile(markdown.file, str(error)))
                except WireRefusalError as refusal:
                    if refusal.refusal_code != "value_error":
                        raise
                    skipped.append(SkippedFile(markdown.file, refusal.refusal_message))
                else:
                    size += len(text.encode())
        if not stored:
            raise CommandError("there is no Markdown file that could be stored")
        return Loaded(
            first=stored[0], documents=len(stored), size_bytes=size, skipped=tuple(skipped)
        )

    def _record(self) -> None:
        self._title(f"Record conversation {self._conversation}")
        call = {"id": "call-1", "name": "lookup", "arguments": {"topic": "launch word"}}
        turns: list[list[dict[str, Any]]] = [
            [{"role": "user", "content": "What is the launch word?"}],
            [
                {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "content": self._word, "tool_call_id": "call-1"},
                {"role": "assistant", "content": f"The launch word is {self._word}."},
            ],
            [{"role": "user", "content": "Thank you. Forget it after the launch."}],
        ]
        for messages in turns:
            turn = self._client.mutate(
                "conversation/append_turn",
                {
                    "conversation_id": self._conversation,
                    "messages": messages,
                    "actor": _ACTOR,
                },
                TurnAnswer,
            ).turn
            said = str(messages[-1].get("content", ""))
            self._say(f"turn {turn.turn}: {len(messages)} message(s), last: {said}")

    def _search(self) -> None:
        query = f"{self._word.upper()} launch"
        self._title(f"Search the conversation for {query!r}")
        hits = self._search_turns(query)
        _check([turn.turn for turn in hits] == [2], "the search finds turn 2 and no other")
        self._say(f"conversation/search_turns: turn 2 of {self._conversation} by {hits[0].actor}")

    def _edit(self, document: MemoryDocument) -> MemoryDocument:
        self._title(f"Edit {document.path} under expected_version")
        text = f"{document.content}\nThe launch word is {self._word}.\n"
        edited = self._write(document.path, text, expected_version=document.version)
        _check(edited.version == document.version + 1, "an edit is the next version")
        self._say(f"first writer, expecting v{document.version}: now v{edited.version}")
        self._show_refusal(document)
        merged = self._write(
            document.path, f"{edited.content}It is secret.\n", expected_version=edited.version
        )
        self._say(
            f"second writer reads v{edited.version}, merges, and expects it: now v{merged.version}"
        )
        return merged

    def _show_refusal(self, document: MemoryDocument) -> None:
        stale = document.version
        try:
            self._write(document.path, "It is secret.\n", expected_version=stale)
        except WireRefusalError as refusal:
            _check(refusal.refusal_code == "memory_conflict", "the refusal is a conflict")
            details = refusal.refusal_details
            self._say(
                f"second writer, still expecting v{stale}: refused, {refusal.refusal_code}, "
                f"{details.get('reason')}, the document is at v{details.get('actual_version')}"
            )
        else:
            raise CommandError("a stale edit was accepted")

    def _show_ledger(self, path: str, *, newest: int) -> None:
        self._title(f"The ledger of {path}")
        versions = self._versions(path)
        _check(versions[0].version == newest, "the ledger starts with the newest")
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
        for heading in ("version", "action", "at", "by"):
            table.add_column(heading, no_wrap=True)
        # On a narrow terminal this column alone gives way.
        table.add_column("last line")
        for version in versions:
            table.add_row(
                f"v{version.version}",
                version.action,
                f"{version.created_at:%H:%M:%S}",
                version.actor or "",
                _last_line(version.content),
            )
        self._console.print(table, soft_wrap=False)

    def _redact(self, path: str) -> None:
        self._title("Redact the document and the turn that gave the word away")
        document = {"scope": self._scope, "path": path, "actor": _ACTOR}
        paths = self._client.mutate("memory/redact", document, CountAnswer).count
        _check(paths == 1, "one path is redacted")
        self._say(f"memory/redact {path}: {paths} path")
        turn = {"conversation_id": self._conversation, "turns": [2], "actor": _ACTOR}
        turns = self._client.mutate("conversation/redact_turns", turn, CountAnswer).count
        _check(turns == 1, "one turn is redacted")
        self._say(f"conversation/redact_turns {self._conversation}, turn 2: {turns} turn")

    def _show_gone(self, path: str) -> None:
        self._title(f"Look for {self._word!r} again")
        document = self._read(path)
        _check(document.redacted and not document.content, "a redacted document reads empty")
        self._say(f"memory/read {path}: v{document.version}, redacted, no content")
        versions = self._versions(path)
        _check(all(v.redacted and not v.content for v in versions), "no version has content")
        self._say(f"memory/versions {path}: {len(versions)} versions, all redacted, no content")
        hits = self._search_turns(self._word)
        _check(not hits, "the search finds nothing")
        self._say("conversation/search_turns: no turn")
        for route, parameters in (
            ("memory/history", {"scope": self._scope}),
            ("conversation/read_turns", {"conversation_id": self._conversation}),
        ):
            answer = self._client.raw_read(route, parameters)
            _check(self._word.encode() not in answer, f"{route} does not hold the word")
            self._say(f"{route}: {len(answer)} bytes without the word")
        acts = self._client.read(
            "memory/redactions", {"scope": self._scope}, RedactionsAnswer
        ).redactions
        _check([act.path for act in acts] == [path], "the erasure is on record")
        self._say(
            f"memory/redactions: erased by {acts[0].actor}, {format_timestamp(acts[0].created_at)}"
        )

    def _ask_gateway(self, gateway: Gateway) -> None:
        self._title(f"Ask {gateway.url} as an agent does: tools/call memory, view /")
        index = call_tool(
            gateway.url, gateway.token, tool="memory", arguments={"command": "view", "path": "/"}
        )
        _check(index.startswith("## /"), "the index begins with a mount")
        for line in index.splitlines():
            self._say(line)

    def _write(self, path: str, content: str, *, expected_version: int | None) -> MemoryDocument:
        parameters = {
            "scope": self._scope,
            "path": path,
            "content": content,
            "actor": _ACTOR,
            "expected_version": expected_version,
        }
        return _present(self._client.mutate("memory/write", parameters, DocumentAnswer).document)

    def _read(self, path: str) -> MemoryDocument:
        parameters = {"scope": self._scope, "path": path}
        return _present(self._client.read("memory/read", parameters, DocumentAnswer).document)

    def _versions(self, path: str) -> tuple[MemoryVersion, ...]:
        parameters = {"scope": self._scope, "path": path}
        return self._client.read("memory/versions", parameters, VersionsAnswer).versions

    def _list_paths(self) -> list[str]:
        paths: list[str] = []
        cursor: str | None = None
        while True:
            page = self._client.read(
                "memory/list_documents", {"scope": self._scope, "cursor": cursor}, EntriesAnswer
            )
            paths.extend(entry.path for entry in page.entries)
            cursor = page.next_cursor
            if cursor is None:
                return paths

    def _search_turns(self, query: str) -> tuple[Turn, ...]:
        parameters = {"query": query, "conversations": [self._conversation]}
        return self._client.read("conversation/search_turns", parameters, TurnsAnswer).turns

    def _title(self, text: str) -> None:
        self._steps += 1
        self._say()
        self._console.print(f"{self._steps}. {text}", style="bold")

    def _say(self, text: str = "") -> None:
        self._console.print(f"   {text}" if text and self._steps else text)

    def _progress(self) -> Progress:
        return Progress(
            TextColumn("   {task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )


def _check(holds: bool, claim: str) -> None:  # noqa: FBT001 - reads like an assertion
    if not holds:
        raise CommandError(f"the service did not do what it should: {claim}")


def _present(document: MemoryDocument | None) -> MemoryDocument:
    if document is None:
        raise CommandError("the service did not do what it should: a document is not there")
    return document


def _last_line(content: str) -> str:
    """Where this run's edits are, cut to a glance."""
    line = content.rstrip().rpartition("\n")[2]
    return line if len(line) <= _GLANCE else f"{line[: _GLANCE - 1]}\N{HORIZONTAL ELLIPSIS}"


def _shown(file: Path) -> str:
    """A name that any terminal can print."""
    return os.fsencode(file).decode(errors="replace")
