"""What a page shows, typed into a shell: with our programs and those of Postgres at hand."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from commonhold.cli.postgres_binaries import installed_prefix

TIMEOUT_SECONDS = 120


def shell_environment() -> dict[str, str]:
    places = (installed_prefix() / "bin", Path(sys.prefix) / "bin", os.environ["PATH"])
    return {"PATH": ":".join(map(str, places)), "PAGER": "cat"}


def typed(script: str, *, folder: Path, given: Mapping[str, str] | None = None) -> str:
    """Run it in the folder, with nothing in the environment but what is given; what it printed."""
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=folder,
        env={**shell_environment(), **(given or {})},
        check=False,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning:" not in done.stderr, done.stderr
    return done.stdout
