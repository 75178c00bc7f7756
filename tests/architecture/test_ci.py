"""What CI runs, with every command of it replaced by one that only notes that it was called."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.processes import has_ended, wait_until
from tests.support.repository import ROOT

NOTE = '#!/bin/sh\necho "$(basename "$0") $*" >> {log}\n'
MAKE = """
[ "$*" != "$FAILING" ] || while [ -n "$AWAITED" ] && [ ! -s "$AWAITED" ]; do sleep 0.05; done
[ "$*" != "$LASTING" ] || {{ echo $$ > {log}.pid; exec sleep 600; }}
[ "$*" != "$FAILING" ]
"""
CLUSTER = [
    "make cluster-down cluster",
    "kubernetes.sh up",
    "make test-cluster",
    "make cluster-down",
]
OUTSIDE = ["make test ARGS=tests/e2e tests/conformance", "make test-matrix VERSIONS=3.13"]
INSIDE = ["make test ARGS=tests/unit tests/chart tests/integration"]
RUN_BEFORE = ["cluster", "architecture", "e2e", "conformance", "unit", "chart", "integration"]
REST = "make test ARGS=" + " ".join(f"--ignore=tests/{name}" for name in RUN_BEFORE)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A clone of nothing but `.ci/run`, and the file that its commands write to."""
    log = tmp_path / "log"
    note = NOTE.format(log=log)
    programs = tmp_path / "bin"
    for folder in (".ci", ".venv/bin", "deploy/offline", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    _program(programs / "make", note + MAKE.format(log=log))
    _program(programs / "docker", "#!/bin/sh\n")
    _program(tmp_path / ".venv/bin/python", "#!/bin/sh\necho 3.11\n")
    _program(tmp_path / "deploy/offline/ensure-docker.sh", "#!/bin/sh\n")
    _program(tmp_path / "deploy/offline/kubernetes.sh", f"{note}echo /somewhere\n")
    return log


def test_everything_is_run_and_the_last_of_it_alone(log: Path) -> None:
    assert _run(log) == 0
    first, *both, last = log.read_text().splitlines()
    assert first == "make setup check"
    assert [call for call in both if call not in INSIDE] == CLUSTER + OUTSIDE
    assert [call for call in both if call in INSIDE] == INSIDE
    assert last == REST


@pytest.mark.parametrize("failing", OUTSIDE + INSIDE)
def test_a_failure_of_either_stream_is_one_of_the_run(log: Path, failing: str) -> None:
    assert _run(log, FAILING=failing.removeprefix("make ")) != 0
    calls = log.read_text().splitlines()
    assert failing in calls
    assert [call for call in calls if call in CLUSTER] == CLUSTER
    assert REST not in calls


@pytest.mark.parametrize("failing", ["cluster-down cluster", "test-cluster"])
def test_the_cluster_is_taken_down_whatever_failed(log: Path, failing: str) -> None:
    assert _run(log, FAILING=failing) != 0
    calls = [call for call in log.read_text().splitlines() if call in CLUSTER]
    assert calls[-2:] == [f"make {failing}", "make cluster-down"]


@pytest.mark.parametrize("broken", ["tail", "rm"])
def test_the_cluster_is_taken_down_though_a_step_before_it_fails(log: Path, broken: str) -> None:
    """Any may, on a machine that has no more processes: each is tried once, and the next."""
    _program(log.parent / "bin" / broken, f"{NOTE.format(log=log)}exit 1\n")
    assert _run(log, FAILING="test-cluster") != 0
    calls = [call for call in log.read_text().splitlines() if call not in INSIDE]
    assert calls[-1] == "make cluster-down"
    assert sum(call.startswith(f"{broken} ") for call in calls) == 1


def test_the_other_stream_is_stopped_when_a_cluster_fails(log: Path) -> None:
    lasting = INSIDE[0].removeprefix("make ")
    pid = log.with_name("log.pid")
    status = _run(log, FAILING="test-cluster", LASTING=lasting, AWAITED=str(pid))
    assert status != 0
    number = int(pid.read_text())
    wait_until(lambda: has_ended(number), "it is gone", seconds=30)


def test_a_cluster_of_somebody_elses_is_used_and_left_alone(log: Path) -> None:
    assert _run(log, KUBECONFIG="/theirs") == 0
    calls = [call for call in log.read_text().splitlines() if call not in INSIDE]
    assert calls == ["make setup check", "make test-cluster", *OUTSIDE, REST]


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _run(log: Path, **environment: str) -> int:
    clone = log.parent
    path = f"{clone / 'bin'}:{os.environ['PATH']}"
    unset = dict.fromkeys(("KUBECONFIG", "FAILING", "LASTING", "AWAITED"), "")
    given = {**unset, "PATH": path, **environment}
    command = [str(clone / ".ci/run")]
    return subprocess.run(command, env={**os.environ, **given}, check=False, timeout=60).returncode
