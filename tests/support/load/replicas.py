"""Services as processes of their own, to be killed, stopped and started again."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import urlopen

from tests.support.ports import free_port

START_SECONDS = 30
STOP_SECONDS = 30
PROBE_SECONDS = 3
STATE = "state"
GATEWAY = "gateway"


class Replica:
    """One service on fixed ports, so that clients find it again after a restart."""

    def __init__(
        self, dsn: str, *, token: str, log: Path, settings: Mapping[str, str], service: str = STATE
    ) -> None:
        self.port = free_port()
        self.ops_port = free_port()
        self._log = log
        self._module = f"commonhold_{service}"
        listens = f"COMMONHOLD_{service.upper()}"
        self._environment = {
            "PATH": os.environ["PATH"],
            "NEOSIAN_POSTGRES_DSN": dsn,
            "NEOSIAN_SERVE_TOKEN": token,
            f"{listens}_LISTEN": f"127.0.0.1:{self.port}",
            f"{listens}_OPS_LISTEN": f"127.0.0.1:{self.ops_port}",
            "COMMONHOLD_LOG_LEVEL": "warning",
            **settings,
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("not started")
        return self._process.pid

    @property
    def mcp_url(self) -> str:
        """Of a gateway: where agents connect."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module],
                env=self._environment,
                stdout=log,
                stderr=log,
            )
        self._wait_until_ready(self._process)

    def send(self, number: signal.Signals) -> None:
        """SIGKILL ends it, SIGSTOP freezes it where it stands, SIGCONT lets it go on."""
        if self._process is None:
            raise RuntimeError("not started")
        self._process.send_signal(number)
        if number == signal.SIGKILL:
            self._process.wait(STOP_SECONDS)

    def metrics(self) -> str:
        url = f"http://127.0.0.1:{self.ops_port}/metrics"
        with urlopen(url, timeout=PROBE_SECONDS) as answer:
            return str(answer.read().decode())

    def exit_status(self) -> int:
        """Wait for the end of a process that was told to stop."""
        if self._process is None:
            raise RuntimeError("not started")
        return self._process.wait(STOP_SECONDS)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                raise

    def said(self) -> str:
        return self._log.read_text()

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while probe(self.ops_port, "/readyz") != 200:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the service did not start:\n{self.said()}")
            time.sleep(0.05)


def probe(port: int, target: str) -> int | None:
    """Ask as a probe does, and return the status; None when nobody answers in time."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PROBE_SECONDS)
    with contextlib.closing(connection):
        try:
            connection.request("GET", target)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None


@contextmanager
def start_replicas(
    dsn: str,
    *,
    token: str,
    logs: Path,
    count: int = 2,
    settings: Mapping[str, str] | None = None,
    service: str = STATE,
) -> Iterator[Sequence[Replica]]:
    with ExitStack() as stack:
        replicas = [
            Replica(
                dsn,
                token=token,
                log=logs / f"{service}-{number}.log",
                settings=settings or {},
                service=service,
            )
            for number in range(count)
        ]
        for replica in replicas:
            stack.callback(replica.close)
            replica.start()
        yield replicas
