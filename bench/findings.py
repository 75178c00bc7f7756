"""What a run found: one line of the table each, with its target where there is one."""

from collections.abc import Sequence

import msgspec

from bench.summaries import Round


class Target(msgspec.Struct, frozen=True, kw_only=True):
    at_least: float | None = None
    at_most: float | None = None

    def is_met(self, value: float) -> bool:
        return (self.at_least is None or value >= self.at_least) and (
            self.at_most is None or value <= self.at_most
        )

    def __str__(self) -> str:
        if self.at_least is not None:
            return f">= {self.at_least:g}"
        return "" if self.at_most is None else f"<= {self.at_most:.4g}"


NO_TARGET = Target()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`value` is compared with the target; `notes` say what it is made of."""

    what: str
    value: float
    unit: str = ""
    target: Target = NO_TARGET
    notes: str = ""

    @property
    def verdict(self) -> str:
        if self.target == NO_TARGET:
            return ""
        return "pass" if self.target.is_met(self.value) else "miss"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One case: its findings and every round behind them. `fault`: why it did not run."""

    case: str
    findings: Sequence[Finding] = ()
    rounds: Sequence[Round] = ()
    seconds: float = 0.0
    fault: str | None = None
