"""The kit of the wire: both seams black-box, against any service that speaks wire 6.

It needs no store, no clock and no empty database: what it asserts, it asserts of scopes
and conversations of its own (docs/reference/kits.md, section 7).
"""

from commonhold.conformance.wire.runs import CASES, Case, Outcome, Report, run_kit
from commonhold.conformance.wire.services import ServiceUnusableError, WireService

__all__ = [
    "CASES",
    "Case",
    "Outcome",
    "Report",
    "ServiceUnusableError",
    "WireService",
    "run_kit",
]
