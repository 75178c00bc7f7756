"""Checkov over rendered manifests: what it finds is what .checkov.yml gives reasons for, exactly.

python -m tests.support.manifest_faults FOLDER -- CHECKOV...
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.repository import ROOT

CONFIGURATION = ROOT / ".checkov.yml"
_REASONED = re.compile(r"^  # (?P<reason>\S.{20,})\n  - (?P<check>CKV\w+)$", re.MULTILINE)
_SKIPPED = re.compile(r"^  - (CKV\w+)$", re.MULTILINE)


def main(arguments: Sequence[str]) -> int:
    folder, separator, *checkov = arguments
    if separator != "--":
        sys.exit(__doc__)
    faults = faults_of(found_in(_report(Path(folder), checkov)), CONFIGURATION.read_text())
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return int(bool(faults))


def _report(folder: Path, checkov: Sequence[str]) -> Any:
    program, *rest = checkov
    # Every check runs, so that one which need not be left out any more is seen; and from the
    # folder itself, since the configuration beside the caller would be read.
    done = subprocess.run(
        [
            str(Path(program).absolute()),
            *rest,
            "--directory=.",
            "--framework=kubernetes",
            "--skip-download",
            "--quiet",
            "--output=json",
        ],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode not in {0, 1}:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def found_in(report: Any) -> dict[str, list[str]]:
    """Return what failed: the check with its name, and where."""
    if not report["summary"]["passed"]:
        raise ValueError("Checkov read no manifest")
    found = defaultdict(list)
    for each in report["results"]["failed_checks"]:
        place = f"{each['file_path'].lstrip('/')}: {each['resource']}"
        found[f"{each['check_id']} {each['check_name']}"].append(place)
    return found


def faults_of(found: Mapping[str, Sequence[str]], configuration: str) -> list[str]:
    """Say what has no reason, which reason matches nothing, and which skip says none."""
    skipped = set(_SKIPPED.findall(configuration))
    reasoned = {match["check"] for match in _REASONED.finditer(configuration)}
    said = {title.partition(" ")[0]: title for title in found}
    unexpected = [said[check] for check in sorted(said.keys() - skipped)]
    return [
        *(f"{title}: {', '.join(found[title])}" for title in unexpected),
        *(f"{check} is left out and finds nothing" for check in sorted(skipped - said.keys())),
        *(f"{check} is left out without a reason" for check in sorted(skipped - reasoned)),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
