"""The kits as an author elsewhere meets them: a wheel, an environment of its own, --pyargs."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from commonhold.conformance.badges import release
from tests.support.repository import ROOT

# What would bring this checkout, or this run, into an environment that has neither.
OURS = {"PYTHONPATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS"}
UV = Path(sys.executable).with_name("uv")
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel with its extra, and nothing else."""
    place = tmp_path_factory.mktemp("outside")
    hatch = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    _run([*hatch, "--directory", place], cwd=ROOT / "services/core")
    (wheel,) = place.glob("commonhold-*.whl")
    _run([UV, "venv", "--quiet", "--python", sys.executable, place / "venv"], cwd=place)
    interpreter = place / "venv/bin/python"
    locked = f"--constraint={ROOT / 'requirements/dev.txt'}"
    wanted = f"commonhold[conformance] @ {wheel.as_uri()}"
    install = f"{UV} pip install --quiet --python={interpreter}"
    _run([*install.split(), locked, wanted], cwd=place)
    return interpreter


def test_a_store_in_a_package_of_its_own_is_certified(
    python: Path, tmp_path: Path, shown_commands: Callable[[str], list[str]]
) -> None:
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(_run([python, "-c", asked], cwd=tmp_path).strip())
    package = site / "acme_store"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(ROOT / "examples/sqlite_store.py", package / "certificate.py")
    (tmp_path / "pytest.ini").write_text(INI)
    (command,) = shown_commands("docs/howto/certify-a-store.md")
    said = _run([python.with_name("pytest"), *command.split()[1:], "-q"], cwd=tmp_path)
    last = said.splitlines()[-1]
    assert f"SqliteStore passes the Commonhold store kits at {release()}" in said
    assert " passed in " in last
    assert "skipped" not in last


def _run(command: Sequence[str | Path], *, cwd: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in OURS}
    done = subprocess.run(
        command, cwd=cwd, env=clean, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
