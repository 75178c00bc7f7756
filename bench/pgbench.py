"""The floor of writes and appends: pgbench running the store's own statements.

The text comes from the store's loader, so the floor cannot drift from what is measured.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from commonhold.cli import postgres_binaries

_PARAMETER = re.compile(r"\$(\d+)")
_RATE = re.compile(r"^tps = ([\d.]+)", re.MULTILINE)
_FAILED = re.compile(r"^number of failed transactions: (\d+)", re.MULTILINE)
_GRACE_SECONDS = 60.0
# Below this a busy machine may not have opened all connections.
_LEAST_SECONDS = 2


class Numbers(msgspec.Struct, frozen=True):
    """A parameter drawn anew for each transaction, uniformly from `count` numbers."""

    first: int
    count: int


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """A statement and its parameters in order: constants are text, the rest is drawn."""

    statement: str
    parameters: Sequence[tuple[str, str | Numbers]]

    def script(self) -> str:
        """The file pgbench runs. A parameter that the statement names twice is sent twice:
        pgbench numbers places, not names.
        """
        drawn = [
            f"\\set {name} random({value.first}, {value.first + value.count - 1})"
            for name, value in self.parameters
            if isinstance(value, Numbers)
        ]
        names = [name for name, _ in self.parameters]
        statement = _PARAMETER.sub(lambda found: f":{names[int(found[1]) - 1]}", self.statement)
        return "\n".join([*drawn, f"{statement.rstrip().removesuffix(';')};", ""])

    def constants(self) -> Mapping[str, str]:
        return {name: value for name, value in self.parameters if isinstance(value, str)}


def run_pgbench(floor: Floor, dsn: str, *, clients: int, seconds: float) -> float:
    """Transactions a second, connecting not counted."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "floor.sql"
        script.write_text(floor.script(), encoding="utf-8")
        output = _run(script, floor.constants(), dsn, clients=clients, seconds=seconds)
    failed, rate = _FAILED.search(output), _RATE.search(output)
    if rate is None or failed is None or failed[1] != "0":
        raise RuntimeError(f"pgbench did not run cleanly:\n{output}")
    return float(rate[1])


def _run(
    script: Path, constants: Mapping[str, str], dsn: str, *, clients: int, seconds: float
) -> str:
    where = urlsplit(dsn)
    done = subprocess.run(
        [
            str(postgres_binaries.installed_prefix() / "bin" / "pgbench"),
            *("--host", where.hostname or "", "--port", str(where.port)),
            *("--username", where.username or ""),
            *("--no-vacuum", "--protocol", "prepared", "--jobs", "2"),
            *("--client", str(clients), "--time", str(max(_LEAST_SECONDS, round(seconds)))),
            *("--file", str(script)),
            *(part for name, value in constants.items() for part in ("-D", f"{name}={value}")),
            where.path.removeprefix("/"),
        ],
        env={**os.environ, "PGPASSWORD": where.password or ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds + _GRACE_SECONDS,
        check=False,
    )
    return done.stdout
