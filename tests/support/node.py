"""Node and the packages of tests/conformance, which its package-lock.json pins by hash.

Node itself is among the requirements of development; the packages are installed by the first
test that asks for them, from wherever npm is set to look.
"""

import hashlib
import os
import subprocess
import sysconfig
from pathlib import Path

from tests.support.repository import ROOT

FOLDER = ROOT / "tests" / "conformance"
_PACKAGES = FOLDER / "node_modules"
_STAMP = _PACKAGES / ".installed"
_PROGRAMS = Path(sysconfig.get_path("scripts"))
_INSTALL_SECONDS = 240.0


def installed_packages() -> Path:
    """The folder of the packages; fails, saying what to do, when they cannot be had."""
    wanted = hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()
    if not _STAMP.is_file() or _STAMP.read_text() != wanted:
        _install()
        _STAMP.write_text(wanted)
    return _PACKAGES


def run_node(
    script: Path, *arguments: str, timeout_seconds: float = 120.0
) -> "subprocess.CompletedProcess[str]":
    """Run a script of a package; its exit status is for the caller to judge."""
    return subprocess.run(
        [_PROGRAMS / "node", script, *arguments],
        cwd=FOLDER,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=timeout_seconds,
        check=False,
    )


def _install() -> None:
    done = subprocess.run(
        [_PROGRAMS / "npm", "ci"],
        cwd=FOLDER,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(
            "the official MCP suites could not be installed; with a registry that npm can reach"
            f" (`npm config get registry`), run `npm ci` in {FOLDER}:\n{done.stderr[-2000:]}"
        )


def _environment() -> dict[str, str]:
    """Ours, with the pinned Node before any other: npm's own scripts look for it there."""
    return {**os.environ, "PATH": f"{_PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
