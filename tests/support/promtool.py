"""promtool, from the image of Prometheus."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from tests.support.engine import engine_answers, obtain_image

IMAGE = "prom/prometheus:v2.53.3"


def promtool(*arguments: str, folders: Mapping[Path, str]) -> subprocess.CompletedProcess[str]:
    """Run it over folders, each seen at its place under /repo."""
    if not (engine_answers() and obtain_image(IMAGE)):
        pytest.skip("promtool is in an image, and no Docker engine here has it or can pull it")
    command = ["docker", "run", "--rm", "--network=none", "--entrypoint=promtool"]
    command += [f"--volume={folder}:/repo/{place}:ro" for folder, place in folders.items()]
    command += ["--workdir=/repo", IMAGE, *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)


def check_expressions(expressions: Sequence[str], folder: Path) -> None:
    """Have Prometheus parse them, with its own intervals in place of the dashboard's."""
    rules = [
        {"record": f"expression:{number}", "expr": text.replace("$__rate_interval", "5m")}
        for number, text in enumerate(expressions)
    ]
    content = {"groups": [{"name": "expressions", "rules": rules}]}
    (folder / "expressions.yml").write_text(yaml.safe_dump(content))
    folder.chmod(0o755)
    done = promtool("check", "rules", "expressions.yml", folders={folder: ""})
    assert done.returncode == 0, done.stdout + done.stderr
