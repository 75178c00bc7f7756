"""What every case gets: the stand, how large to be, and the echo's own spread."""

from collections.abc import Callable
from functools import cached_property

import msgspec

from bench import wire
from bench.loads import Load, Outcome, run_load
from bench.stands import Server, Stand
from bench.summaries import Round, Side, side_of, summarise

CONNECTIONS = 32
TAIL_LIMIT = 4.0
TAIL_OF_ECHO = 1.5


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes and durations of a run."""

    rounds: int = 3
    seconds: float = 4.0
    flat_rounds: int = 5
    flat_seconds: float = 0.8
    documents: int = 100_000
    page_size: int = 100
    pages: int = 200
    long_conversations: int = 4
    long_turns: int = 100_000
    short_turns: int = 1_000
    turns: int = 1_000_000
    plain_turns: int = 20_000
    memory_requests: int = 100_000
    large_body_bytes: int = 60 * 1024 * 1024
    moved_scopes: int = 10
    moved_versions: int = 500
    large_store_mib: int = 2048


FULL = Scale()
QUICK = Scale(
    rounds=1,
    seconds=1.0,
    flat_rounds=2,
    flat_seconds=0.4,
    documents=10_000,
    page_size=20,
    long_turns=5_000,
    turns=50_000,
    plain_turns=2_000,
    memory_requests=10_000,
    moved_scopes=2,
    large_store_mib=32,
)


class Bench:
    """One run; cases take from here and leave rows in the database, nothing else."""

    def __init__(
        self,
        stand: Stand,
        scale: Scale,
        *,
        service: Server,
        echo: Server,
        say: Callable[[str], None],
    ) -> None:
        self.stand = stand
        self.scale = scale
        self.service = service
        self.echo = echo
        self.say = say
        # Populations by name: what one case has loaded the next finds.
        self.loaded: dict[str, object] = {}

    def load_service(self, load: Load) -> Outcome:
        return run_load(msgspec.structs.replace(load, port=self.service.port))

    def load_echo(self, load: Load) -> Outcome:
        return run_load(msgspec.structs.replace(load, port=self.echo.port))

    @cached_property
    def echo_rounds(self) -> list[Round]:
        """The echo under 32 connections: the spread that this machine gives to anything."""
        load = Load(
            port=self.echo.port,
            requests=[wire.read("user:echo", "echo")],
            connections=CONNECTIONS,
            seconds=self.scale.seconds,
        )
        return [
            summarise(self.load_echo(load), side="echo", number=number)
            for number in range(self.scale.rounds)
        ]

    @property
    def echo_side(self) -> Side:
        return side_of(self.echo_rounds, "echo")

    @property
    def tail_limit(self) -> float:
        """The largest p99/p50 that passes."""
        return max(TAIL_LIMIT, TAIL_OF_ECHO * self.echo_side.tail)
