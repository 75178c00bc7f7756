"""A schema of generation 4 copied into ours, in the same database.

What lands and what does not is in docs/reference/schema.md, section 14.
"""

from commonhold.adapters.postgres.adoption.reports import AdoptionReport, OddRow
from commonhold.adapters.postgres.adoption.runs import AdoptionError, adopt

__all__ = ["AdoptionError", "AdoptionReport", "OddRow", "adopt"]
