"""What a run amounted to, in one line for people and one file for other programs."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.support.histories.records import Answered, Attempt, Refused, Unknown
from tests.support.repository import ROOT

RESULTS = ROOT / "bench-results" / "races"


def count_outcomes(attempts: Sequence[Attempt]) -> dict[str, Any]:
    """Requests by outcome; the unknown ones by their reason too."""
    unknown = [one.outcome.why for one in attempts if isinstance(one.outcome, Unknown)]
    return {
        "requests": len(attempts),
        "answered": sum(isinstance(one.outcome, Answered) for one in attempts),
        "refused": sum(isinstance(one.outcome, Refused) for one in attempts),
        "unknown": len(unknown),
        "reasons": dict(Counter(unknown)),
    }


def render(name: str, numbers: dict[str, Any]) -> str:
    parts = (f"{key} {value}" for key, value in numbers.items() if value not in ({}, None))
    return f"{name}: {', '.join(parts)}"


def keep(name: str, numbers: dict[str, Any], *, directory: Path = RESULTS) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json").write_bytes(
        msgspec.json.format(msgspec.json.encode(numbers), indent=2) + b"\n"
    )
