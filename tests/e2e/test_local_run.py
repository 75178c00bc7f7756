"""`commonhold dev` from outside: a first request as printed, and nothing left behind."""

import asyncio
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from commonhold.cli.children import SystemUser
from commonhold.cli.errors import CommandError
from commonhold.cli.wire_client import WireClient
from commonhold.wire.answers import DocumentAnswer, EntriesAnswer
from tests.support.local_runs import (
    LocalRun,
    local_run,
    on_a_terminal,
    open_clone,
    paste,
    wait_until_all_ended,
)
from tests.support.mcp_clients import mcp_client, texts
from tests.support.processes import descendants, wait_until

ROOT_ONLY = pytest.mark.root("becomes another user")
LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")
# One page of a listing holds them all.
MOST_WRITES = 500
CTRL_C = b"\x03"
SECONDS_AFTER_A_KILL = 10.0


@pytest.fixture(scope="module")
def used_clone() -> Iterator[Path]:
    """A clone in which a run has stored the printed document and ended."""
    with open_clone() as clone:
        with local_run(clone) as run:
            paste(run.wait_until_up().commands[0])
            assert run.end() == 0
        yield clone


@pytest.fixture
def clone(used_clone: Path) -> Iterator[Path]:
    """A copy of it: quicker than a first start."""
    with open_clone() as clone:
        subprocess.run(["cp", "-a", used_clone / ".commonhold", clone], check=True)
        yield clone


def stored(run: LocalRun) -> str:
    """What the second printed line shows."""
    document = json.loads(paste(run.commands[1]))["document"]
    return str(document["content"])


def test_the_printed_lines_write_and_read_a_document() -> None:
    with open_clone() as parent, local_run(awkward(parent)) as run:
        write, read = run.wait_until_up().commands
        written = json.loads(paste(write))["document"]
        assert written["version"] == 1
        assert written["content"] == "Remember the milk."
        assert json.loads(paste(read))["document"] == written
        assert f"http://127.0.0.1:{run.port}" in run.output


def test_an_agent_connects_by_the_printed_snippet_and_sees_what_was_written(clone: Path) -> None:
    with local_run(clone) as run:
        token = (clone / ".commonhold" / "token").read_text().strip()
        server = printed_server(run.wait_until_up(), token)
        assert asyncio.run(viewed(server, "/user/notes/first")) == (
            "/user/notes/first (v1):\n1: Remember the milk."
        )


def test_the_token_is_in_no_snippet_and_in_no_argument(clone: Path) -> None:
    with local_run(clone) as run:
        token = (clone / ".commonhold" / "token").read_text().strip()
        run.wait_until_up()
        assert run.output.count(token) == 1
        assert f"export NEOSIAN_CLIENT_TOKEN=$(cat {clone}/.commonhold/token)" in run.output
        for pid in run.processes():
            assert token.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_the_printed_commands_hold_the_printed_server(clone: Path) -> None:
    with local_run(clone) as run:
        output = run.wait_until_up().output
    shown = json.loads(snippet(output))["mcpServers"]["commonhold"]
    lines = [shlex.split(line) for line in output.splitlines() if " mcp add" in line]
    (claude,) = (words for words in lines if words[0] == "claude")
    (codex,) = (words for words in lines if words[0] == "codex")
    assert claude[:3] == ["claude", "mcp", "add-json"]
    assert json.loads(claude[-1]) == shown
    assert codex[codex.index("--url") + 1] == shown["url"]


def snippet(output: str) -> str:
    """The JSON among the printed lines."""
    found = re.search(r"^\{\n.*?^\}$", output, re.MULTILINE | re.DOTALL)
    assert found is not None, output
    return found[0]


def printed_server(run: LocalRun, token: str) -> dict[str, Any]:
    """The printed server as a client reads it: with its variables put in."""
    expanded = string.Template(snippet(run.output)).substitute(NEOSIAN_CLIENT_TOKEN=token)
    server: dict[str, Any] = json.loads(expanded)["mcpServers"]["commonhold"]
    return server


async def viewed(server: dict[str, Any], path: str) -> str:
    async with mcp_client(server["url"], headers=server["headers"]) as client:
        answer = await client.call_tool("memory", {"command": "view", "path": path})
    return texts(answer)[0]


def awkward(parent: Path) -> Path:
    """A clone whose name a shell would take apart."""
    clone = parent / "it's $HOME; a clone"
    (clone / ".git").mkdir(parents=True)
    return clone


def test_the_token_is_printed_kept_closed_and_used_again(clone: Path) -> None:
    token_file = clone / ".commonhold" / "token"
    token = token_file.read_text().strip()
    with local_run(clone) as run:
        run.wait_until_up()
        assert token in run.output
        assert str(token_file) in run.output
        assert token_file.read_text().strip() == token
        assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
        refused = paste(run.commands[1].replace("/token)", "/token)x"))
        assert refused.strip() == "unauthorized"


def test_ctrl_c_on_a_terminal_stops_all_of_it_and_keeps_the_data(clone: Path) -> None:
    with local_run(clone, prefix=on_a_terminal()) as run:
        run.wait_until_up()
        processes = run.processes()
        assert len(processes) > 5
        assert run.process.stdin is not None
        run.process.stdin.write(CTRL_C)
        run.process.stdin.flush()
        assert run.wait_for_status() == 0
        wait_until_all_ended(processes, seconds=1)
        assert not (clone / ".commonhold" / "run.json").exists()
        assert not (clone / ".commonhold" / "postgres" / "data" / "postmaster.pid").exists()
        assert "Traceback" not in run.output
    with local_run(clone) as run:
        assert stored(run.wait_until_up()) == "Remember the milk."


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_ways_to_ask_stop_all_of_it_too(clone: Path, number: signal.Signals) -> None:
    with local_run(clone) as run:
        processes = run.wait_until_up().processes()
        run.process.send_signal(number)
        assert run.wait_for_status() == 0
        wait_until_all_ended(processes, seconds=1)


def test_it_can_be_stopped_while_it_starts() -> None:
    with open_clone() as clone, local_run(clone) as run:
        run.wait_until_says("starting Postgres")
        processes = run.processes()
        assert run.end() == 0
        wait_until_all_ended(processes)


@LINUX_ONLY
def test_a_kill_takes_every_child_along_and_the_next_start_works(clone: Path) -> None:
    with local_run(clone) as run:
        processes = run.wait_until_up().processes()
        run.process.kill()
        wait_until_all_ended(processes, seconds=SECONDS_AFTER_A_KILL)
        log = clone / ".commonhold" / "logs" / "postgres.log"
        assert "database system is shut down" in log.read_text()
    with local_run(clone) as run:
        assert stored(run.wait_until_up()) == "Remember the milk."


@LINUX_ONLY
def test_a_kill_under_load_loses_no_acknowledged_write(clone: Path) -> None:
    acknowledged: list[str] = []
    with local_run(clone) as run:
        writer = Thread(target=write_until_it_breaks, args=(run.wait_until_up(), acknowledged))
        writer.start()
        wait_until(lambda: len(acknowledged) >= 100, "a hundred writes are acknowledged")
        run.process.kill()
        writer.join(timeout=SECONDS_AFTER_A_KILL)
        assert not writer.is_alive()
    with local_run(clone) as run:
        with contextlib.closing(wire(run.wait_until_up())) as client:
            listed = client.read("memory/list_documents", {"scope": "test:load"}, EntriesAnswer)
        assert set(acknowledged) <= {entry.path for entry in listed.entries}


def wire(run: LocalRun) -> WireClient:
    token = (run.clone / ".commonhold" / "token").read_text().strip()
    return WireClient(f"http://127.0.0.1:{run.port}", token)


def write_until_it_breaks(run: LocalRun, acknowledged: list[str]) -> None:
    """One document after another, noting each that the service has answered for."""
    client = wire(run)
    with contextlib.closing(client), contextlib.suppress(CommandError):
        for number in range(MOST_WRITES):
            path = f"n{number:06}"
            document = {"scope": "test:load", "path": path, "content": "x"}
            client.mutate("memory/write", document, DocumentAnswer)
            acknowledged.append(path)


@LINUX_ONLY
def test_a_start_right_after_a_kill_waits_for_what_is_still_ending(clone: Path) -> None:
    with local_run(clone) as killed:
        listens = {"COMMONHOLD_STATE_LISTEN": f"127.0.0.1:{killed.port}"}
        killed.wait_until_up().process.kill()
        with local_run(clone, environment=listens) as run:
            assert stored(run.wait_until_up()) == "Remember the milk."


@LINUX_ONLY
def test_a_kill_while_it_starts_leaves_nothing_either() -> None:
    with open_clone() as clone:
        with local_run(clone) as run:
            run.wait_until_says("making a Postgres cluster")
            processes = run.processes()
            run.process.kill()
            wait_until_all_ended(processes, seconds=SECONDS_AFTER_A_KILL)
        with local_run(clone) as run:
            paste(run.wait_until_up().commands[0])
            assert stored(run) == "Remember the milk."


def test_a_second_run_is_refused_and_the_first_goes_on(clone: Path) -> None:
    with local_run(clone) as first:
        first.wait_until_up()
        with local_run(clone) as second:
            assert second.wait_for_status() == 1
            assert f"in use by another process (pid {first.process.pid})" in second.output
            assert "Traceback" not in second.output
        assert stored(first) == "Remember the milk."


@pytest.mark.parametrize("name", ["COMMONHOLD_STATE_LISTEN", "COMMONHOLD_GATEWAY_OPS_LISTEN"])
def test_a_port_in_use_stops_the_start_by_name(clone: Path, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with local_run(clone, environment={name: f"127.0.0.1:{port}"}) as run:
            assert run.wait_for_status() == 1
            assert f"port {port} on 127.0.0.1 is in use" in run.output
            assert name in run.output


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("commonhold_state", "the state service"),
        ("commonhold_gateway", "the gateway"),
        ("commonhold_maintenance", "the maintenance service"),
        ("postgres", "postgres"),
    ],
)
def test_a_part_that_dies_stops_everything_and_shows_its_last_lines(
    clone: Path, part: str, name: str
) -> None:
    with local_run(clone) as run:
        processes = run.wait_until_up().processes()
        os.kill(find(run, part), signal.SIGKILL)
        assert run.wait_for_status() == 1
        wait_until_all_ended(processes, seconds=5)
        assert f"{name} ended by signal 9; the last lines of" in run.output
        last = run.output.rstrip().splitlines()[-1]
        log = clone / ".commonhold" / "logs" / f"{part.removeprefix('commonhold_')}.log"
        assert last in log.read_text()


def find(run: LocalRun, part: str) -> int:
    """The child of the run whose command line names the part."""
    for pid in descendants(run.process.pid):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if part.encode() in words or words[0].endswith(f"/{part}".encode()):
            return pid
    raise AssertionError(f"{part} does not run")


def test_a_setting_that_the_service_refuses_stops_the_start_with_its_words(clone: Path) -> None:
    with local_run(clone, environment={"NEOSIAN_SERVE_GRANTS": "/grants"}) as run:
        assert run.wait_for_status() == 1
        assert "the state service ended with status 2" in run.output
        assert "NEOSIAN_SERVE_GRANTS" in run.output


def test_an_unknown_setting_stops_the_start_before_anything_is_made() -> None:
    with open_clone() as clone, local_run(clone, environment={"COMMONHOLD_TYPO": "1"}) as run:
        assert run.wait_for_status() == 2
        assert "COMMONHOLD_TYPO" in run.output
        assert not (clone / ".commonhold").exists()


@ROOT_ONLY
def test_root_in_a_folder_that_only_root_can_enter_keeps_the_data_elsewhere() -> None:
    with open_clone() as clone:
        clone.chmod(0o700)
        elsewhere = None
        try:
            for first in (True, False):
                with local_run(clone) as run:
                    run.wait_until_up()
                    said = re.search(r"the data is in (\S+)", run.output)
                    assert said is not None
                    elsewhere = Path(said.group(1))
                    assert (elsewhere / "data" / "PG_VERSION").exists()
                    assert stat.S_IMODE(clone.stat().st_mode) == 0o700
                    if first:
                        paste(run.commands[0])
                    assert stored(run) == "Remember the milk."
                    assert run.end() == 0
        finally:
            if elsewhere is not None:
                shutil.rmtree(elsewhere)


@ROOT_ONLY
def test_an_unprivileged_user_runs_all_of_it_under_its_own_name() -> None:
    user = SystemUser.named("nobody")
    with open_clone() as clone:
        os.chown(clone, user.uid, user.gid)
        with local_run(clone, prefix=as_user(user)) as run:
            processes = run.wait_until_up().processes()
            owners = {Path(f"/proc/{pid}").stat().st_uid for pid in processes}
            assert owners == {user.uid}
            paste(run.commands[0])
            assert stored(run) == "Remember the milk."
            assert run.end() == 0
            wait_until_all_ended(processes, seconds=1)


@ROOT_ONLY
def test_a_folder_of_another_user_is_refused_by_name(clone: Path) -> None:
    with local_run(clone, prefix=as_user(SystemUser.named("nobody"))) as run:
        assert run.wait_for_status() == 1
        assert run.output == f"error: Permission denied: {clone}/.commonhold/lock\n"


def as_user(user: SystemUser) -> tuple[str, ...]:
    """Another user who may still read the interpreter, wherever root has put it."""
    return (
        "setpriv",
        f"--reuid={user.uid}",
        f"--regid={user.gid}",
        "--clear-groups",
        "--inh-caps=-all,+dac_read_search",
        "--ambient-caps=-all,+dac_read_search",
        "--bounding-set=-all,+dac_read_search",
    )
