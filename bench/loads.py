"""A load and what came of it: the records that go to the generator's process and back."""

import subprocess
import sys
from collections.abc import Sequence

import msgspec

OK = 200
# A generator that is stuck itself must not hold the run.
_GRACE_SECONDS = 60.0


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Connection c of n sends requests c, c + n, c + 2n ... over and over, one at a time.

    It ends after `seconds`, of which the warm-up before them is not counted; or, with
    `requests_each`, when every connection has sent that many.
    """

    port: int
    requests: Sequence[bytes]
    connections: int = 32
    seconds: float = 5.0
    warmup_seconds: float = 0.5
    requests_each: int | None = None
    patience_seconds: float = 15.0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`latencies` are seconds of the answers with status 200, in no order.

    `hung` counts connections without an answer at the end of the patience.
    """

    seconds: float
    latencies: list[float]
    statuses: dict[int, int]
    failures: dict[str, int]
    hung: int
    first_body: bytes

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    @property
    def faults(self) -> int:
        """Everything that was not a 200."""
        others = sum(count for status, count in self.statuses.items() if status != OK)
        return others + sum(self.failures.values()) + self.hung


def run_load(load: Load) -> Outcome:
    """Send the load from a process of its own."""
    limit = load.warmup_seconds + load.seconds + load.patience_seconds + _GRACE_SECONDS
    if load.requests_each is not None:
        limit = load.patience_seconds + _GRACE_SECONDS
    done = subprocess.run(
        [sys.executable, "-m", "bench.generator"],
        input=msgspec.msgpack.encode(load),
        stdout=subprocess.PIPE,
        check=True,
        timeout=limit,
    )
    return msgspec.msgpack.decode(done.stdout, type=Outcome)
