"""What maintenance never does, for every stage (docs/reference/maintenance.md, section 2).

Read-only mounts are left out where a pass begins, edit-only ones by the dispatcher; the
version fence is in `fences`.
"""

from datetime import UTC, datetime, timedelta

import msgspec

from commonhold.contract.clock import require_aware
from commonhold.usecases.session_documents import SESSIONS_PREFIX
from commonhold.usecases.virtual_paths import is_state

DEFAULT_MIN_AGE_DAYS = 7

STATE = "state document has its own lifecycle"
REDACTED = "the document is redacted"
FRESH = "the document is inside the age floor"
NOT_SHOWN = "not shown"
UNLISTED = "more documents than one message can name"
CHANGED = "changed underneath"
KEEPER_CHANGED = "the kept copy changed underneath"
HELD = "legal hold"
ERASED = "text it was shown was erased meanwhile"
OVERTAKEN = "written as text it was shown was erased: it may repeat it"
CIRCUIT_OPEN = "the circuit of the model is open"
RATE_LIMITED = "the model has had as many calls as it may"

_HANDOFF = "handoff"
_SKILLS_PREFIX = "skills/"
_BEGINNING = datetime.min.replace(tzinfo=UTC)


class AgeFloor(msgspec.Struct, frozen=True):
    """A document written after `cutoff` is fresh; one written at it is not."""

    cutoff: datetime

    def is_fresh(self, updated_at: datetime) -> bool:
        return updated_at > self.cutoff


def age_floor(now: datetime, *, min_age_days: int) -> AgeFloor:
    """The floor of a pass that starts now; ValueError for a negative age."""
    if min_age_days < 0:
        raise ValueError(f"min_age_days must not be negative, got {min_age_days}")
    try:
        return AgeFloor(require_aware(now, name="now") - timedelta(days=min_age_days))
    except OverflowError:
        return AgeFloor(_BEGINNING)


def has_own_lifecycle(document_path: str) -> bool:
    """Documents that other tools keep: never read as input, never touched."""
    return (
        is_state(document_path)
        or document_path.startswith(SESSIONS_PREFIX)
        or document_path == _HANDOFF
    )


def is_named_by_address(document_path: str) -> bool:
    """A skill and its files: two alike are two, since the path is the name."""
    return document_path.startswith(_SKILLS_PREFIX)


def is_blank(content: str) -> bool:
    return not content.strip()
