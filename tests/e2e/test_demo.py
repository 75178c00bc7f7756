"""`commonhold demo` against what `commonhold dev` started, whole and from outside."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.support.local_runs import LocalRun, local_run, on_a_terminal, open_clone
from tests.support.ports import free_port

SECONDS = 120.0
STEPS = (
    "1. Load the Markdown of",
    "2. Record conversation",
    "3. Search the conversation for",
    "4. Edit",
    "5. The ledger of",
    "6. Redact the document and the turn",
    "7. Look for",
    "8. Ask http://127.0.0.1:",
    "Done: each step was checked against the answers.",
)


@pytest.fixture(scope="module")
def run() -> Iterator[LocalRun]:
    with open_clone() as clone, local_run(clone) as run:
        yield run.wait_until_up()


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A folder with what a real one has: odd names, odd bytes, and things that are no pages."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "a.md").write_text("# First\n\nThe first page.\n")
    (tmp_path / "notes" / "Über uns (alt).md").write_text("Grüße, 計画 ✓\r\n")
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    (tmp_path / "nul.md").write_bytes(b"a\0b")
    (tmp_path / "huge.md").write_bytes(b"x" * (4 * 1024 * 1024 + 1))
    (tmp_path / "empty.md").write_text("")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    return tmp_path


def demo(
    run: LocalRun,
    *arguments: str | Path,
    environment: Mapping[str, str] | None = None,
    prefix: tuple[str, ...] = (),
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*prefix, sys.executable, "-m", "commonhold.cli", "demo", *arguments],
        cwd=run.clone,
        env={"PATH": os.environ["PATH"], **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def call(run: LocalRun, route: str, **parameters: Any) -> Any:
    token = (run.clone / ".commonhold" / "token").read_text().strip()
    request = Request(
        f"http://127.0.0.1:{run.port}/v1/{route}",
        data=json.dumps(parameters).encode(),
        headers={"Authorization": f"Bearer {token}"},
    )
    with urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - the URL is written above
        return json.load(answer)


def found(pattern: str, transcript: str) -> str:
    match = re.search(pattern, transcript)
    assert match is not None, transcript
    return match.group(1)


def test_the_transcript_shows_every_step_in_order(run: LocalRun, pages: Path) -> None:
    done = demo(run, pages)
    assert (done.returncode, done.stderr) == (0, "")
    places = [done.stdout.find(step) for step in STEPS]
    assert -1 not in places
    assert places == sorted(places)


def test_what_was_loaded_and_what_was_left_out_is_said(run: LocalRun, pages: Path) -> None:
    transcript = demo(run, pages).stdout
    assert "3 documents" in transcript
    assert "3 skipped" in transcript
    assert f"skipped {pages}/latin.md: not UTF-8 (byte 3)" in transcript
    assert f"skipped {pages}/nul.md: contains U+0000" in transcript
    assert f"skipped {pages}/huge.md: larger than 4 MiB" in transcript
    scope = found(r"into scope (\S+)", transcript)
    listed = call(run, "memory/list_documents", scope=scope)["entries"]
    assert [entry["path"] for entry in listed] == ["a", "empty", "notes/Uber-uns-alt"]
    page = call(run, "memory/read", scope=scope, path="notes/Uber-uns-alt")["document"]
    assert page["content"] == "Grüße, 計画 ✓\r\n"


def test_the_edit_the_refusal_and_the_ledger_are_real(run: LocalRun, pages: Path) -> None:
    transcript = demo(run, pages).stdout
    assert "first writer, expecting v1: now v2" in transcript
    assert (
        "second writer, still expecting v1: refused, memory_conflict, version_mismatch, "
        "the document is at v2" in transcript
    )
    assert "merges, and expects it: now v3" in transcript
    ledger = transcript[transcript.index(STEPS[4]) : transcript.index(STEPS[5])]
    rows = re.findall(r"v(\d) +(\w+) +\S+ +(\S+)", ledger)
    assert rows == [
        ("3", "modified", "client:default/demo:tour"),
        ("2", "modified", "client:default/demo:tour"),
        ("1", "created", "client:default/demo:tour"),
    ]


def test_the_gateway_shows_an_agent_what_is_stored(run: LocalRun, pages: Path) -> None:
    call(run, "memory/write", scope="user:me", path="notes/kettle", content="on")
    transcript = demo(run, pages).stdout
    asked = transcript[transcript.index(STEPS[7]) :]
    assert asked.startswith(f"8. Ask http://127.0.0.1:{run.mcp_port}/mcp as an agent does")
    assert "   ## /user\n   - /user/notes/kettle\n" in asked
    assert "   ## /project\n   (empty)\n" in asked


def test_what_was_redacted_is_gone_from_the_service(run: LocalRun, pages: Path) -> None:
    transcript = demo(run, pages).stdout
    scope = found(r"into scope (\S+)", transcript)
    conversation = found(r"Record conversation (\S+)", transcript)
    word = found(r"Look for '(heliotrope-\w+)' again", transcript)
    assert f"The launch word is {word}." in transcript
    answers = [
        call(run, "memory/read", scope=scope, path="a"),
        call(run, "memory/versions", scope=scope, path="a"),
        call(run, "memory/history", scope=scope),
        call(run, "conversation/read_turns", conversation_id=conversation),
    ]
    assert word not in json.dumps(answers)
    assert answers[0]["document"]["redacted"]
    assert [row["redacted"] for row in answers[1]["versions"]] == [True, True, True]
    assert call(run, "conversation/search_turns", query=word)["turns"] == []
    # What was not redacted is still there.
    assert len(answers[3]["turns"]) == 3
    assert answers[3]["turns"][0]["messages"][0]["content"] == "What is the launch word?"


def test_runs_never_meet(run: LocalRun, pages: Path) -> None:
    first, second = (found(r"into scope (\S+)", demo(run, pages).stdout) for _ in range(2))
    assert first != second


def test_without_a_folder_the_documents_of_the_clone_are_loaded(run: LocalRun, pages: Path) -> None:
    docs = run.clone / "docs"
    pages.rename(docs)
    transcript = demo(run).stdout
    docs.rename(pages)
    assert f"Load the Markdown of {docs} into" in transcript
    assert "3 documents" in transcript


def test_another_service_is_reached_by_url_and_token(run: LocalRun, pages: Path) -> None:
    token_file = run.clone / ".commonhold" / "token"
    done = demo(
        run,
        pages,
        "--url",
        f"http://127.0.0.1:{run.port}/",
        environment={"NEOSIAN_CLIENT_TOKEN_FILE": str(token_file)},
    )
    assert done.returncode == 0
    assert STEPS[-1] in done.stdout
    # Where its gateway is, if it has one, is not known.
    assert STEPS[7] not in done.stdout


def test_a_pipe_gets_plain_text_and_a_terminal_a_moving_bar(run: LocalRun, pages: Path) -> None:
    assert "\x1b" not in demo(run, pages).stdout
    shown = demo(run, pages, prefix=on_a_terminal(), environment={"TERM": "xterm"}).stdout
    assert "\x1b[" in shown
    assert "memory/write" in shown
    assert "6/6" in shown


def test_a_wrong_token_ends_it_with_one_line(run: LocalRun, pages: Path) -> None:
    url = f"http://127.0.0.1:{run.port}"
    done = demo(run, pages, "--url", url, environment={"NEOSIAN_CLIENT_TOKEN": "guess"})
    assert done.returncode == 1
    assert done.stderr == f"error: {url} does not accept the token\n"


def test_a_folder_without_markdown_ends_it_with_one_line(run: LocalRun, tmp_path: Path) -> None:
    done = demo(run, tmp_path)
    assert done.returncode == 1
    assert done.stderr == "error: there is no Markdown file that could be stored\n"


def test_a_service_that_was_killed_is_said_to_be_away(pages: Path) -> None:
    with open_clone() as clone, local_run(clone) as run:
        running = clone / ".commonhold" / "run.json"
        url = f"http://127.0.0.1:{free_port()}"
        run.wait_until_up()
        # As a kill leaves it: a file that names a service which is no more.
        running.write_text(running.read_text().replace(f"http://127.0.0.1:{run.port}", url))
        done = demo(run, pages)
    assert done.returncode == 1
    assert done.stderr == f"error: nothing answers at {url}: start it with `make run`\n"
