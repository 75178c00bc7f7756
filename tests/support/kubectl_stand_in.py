"""kubectl as the runbooks use it, for where no cluster is: pods of a release are processes here.

What a command names (a deployment, a selector of pods) must be in the rendered chart, and what
it would run in a pod runs here, against the process that stands for it. STAND_INS names a JSON
file with the objects of the chart and the processes.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any


def main(arguments: Sequence[str]) -> int:
    known = json.loads(Path(os.environ["STAND_INS"]).read_text())
    namespace, verb, *rest = _words(arguments)
    if namespace != known["namespace"]:
        sys.exit(f"no namespace {namespace}")
    if verb == "exec":
        return _run(rest, known)
    if verb == "get" and rest[0] == "hpa":
        print(known["autoscalers"])
        return 0
    chosen = sorted(_chosen(_selector(rest), known["pods"]))
    if not chosen:
        sys.exit(f"no pod has the labels {_selector(rest)}")
    for component in chosen:
        print(Path(known["logs"][component]).read_text() if verb == "logs" else _row(component))
    return 0


def _words(arguments: Sequence[str]) -> Sequence[str]:
    if arguments[0] != "-n":
        sys.exit("a command names its namespace")
    return arguments[1:]


def _run(rest: Sequence[str], known: Mapping[str, Any]) -> int:
    target, separator, program, *arguments = rest
    kind, _, name = target.partition("/")
    if (kind, separator, program) != ("deploy", "--", "python") or name not in known["ports"]:
        sys.exit(f"nothing to run in: {target}")
    shown, actual = known["ports"][name]
    moved = [each.replace(f"127.0.0.1:{shown}/", f"127.0.0.1:{actual}/") for each in arguments]
    if moved == arguments:
        sys.exit(f"{name} does not listen where the command looks")
    return subprocess.run([sys.executable, *moved], check=False).returncode


def _selector(rest: Sequence[str]) -> dict[str, str]:
    pairs = rest[rest.index("-l") + 1].split(",")
    return dict(pair.split("=", 1) for pair in pairs)


def _chosen(wanted: Mapping[str, str], pods: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for component, labels in pods.items():
        if wanted.items() <= labels.items():
            yield component


def _row(component: str) -> str:
    return f"{component}-1  Running\n    Last State:  none\nEvents:  <none>"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
