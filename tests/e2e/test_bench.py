"""`make bench` end to end, at its smallest."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.support.repository import ROOT


def test_a_short_run_prints_its_table_and_keeps_the_raw_data(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench.run"),
            *("--quick", "--only", "reads", "--results", str(tmp_path)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "reads: share of the echo" in done.stdout
    assert re.search(r"reads: answers other than 200 +\| <= 0 +\| 0 +\| pass", done.stdout)
    (kept,) = tmp_path.glob("*.json")
    (report,) = json.loads(kept.read_bytes())["reports"]
    assert {one["side"] for one in report["rounds"]} == {"echo", "service"}
    assert all(len(one["quantiles_ms"]) == 101 for one in report["rounds"])
