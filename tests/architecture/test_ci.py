"""What CI runs, with every command of it replaced by one that only notes that it was called."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.repository import ROOT

NOTE = '#!/bin/sh\necho "$(basename "$0") $*" >> {log}\n'
CLUSTER = ["make cluster-down cluster", "kubernetes.sh up", "make test-cluster"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A clone of nothing but `.ci/run`, and the file that its commands write to."""
    log = tmp_path / "log"
    note = NOTE.format(log=log)
    programs = tmp_path / "bin"
    for folder in (".ci", ".venv/bin", "deploy/offline", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    _program(programs / "make", f'{note}[ "$*" != "$FAILING" ]\n')
    _program(programs / "docker", "#!/bin/sh\n")
    _program(tmp_path / ".venv/bin/python", "#!/bin/sh\necho 3.11\n")
    _program(tmp_path / "deploy/offline/ensure-docker.sh", "#!/bin/sh\n")
    _program(tmp_path / "deploy/offline/kubernetes.sh", f"{note}echo /somewhere\n")
    return log


def test_the_cluster_is_there_for_its_tests_alone(log: Path) -> None:
    assert _run(log) == 0
    calls = log.read_text().splitlines()
    assert calls[:5] == ["make setup check", *CLUSTER, "make cluster-down"]
    assert calls[5] == "make test ARGS=--ignore=tests/cluster"


@pytest.mark.parametrize("failing", ["cluster-down cluster", "test-cluster"])
def test_the_cluster_is_taken_down_whatever_failed(log: Path, failing: str) -> None:
    assert _run(log, FAILING=failing) != 0
    calls = log.read_text().splitlines()
    assert calls[-2:] == [f"make {failing}", "make cluster-down"]


def test_a_cluster_of_somebody_elses_is_used_and_left_alone(log: Path) -> None:
    assert _run(log, KUBECONFIG="/theirs") == 0
    assert [call for call in log.read_text().splitlines() if "cluster" in call] == [
        "make test-cluster",
        "make test ARGS=--ignore=tests/cluster",
    ]


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _run(log: Path, **environment: str) -> int:
    clone = log.parent
    path = f"{clone / 'bin'}:{os.environ['PATH']}"
    given = {"KUBECONFIG": "", "FAILING": "", "PATH": path, **environment}
    command = [str(clone / ".ci/run")]
    return subprocess.run(command, env={**os.environ, **given}, check=False, timeout=60).returncode
