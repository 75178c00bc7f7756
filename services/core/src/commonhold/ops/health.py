"""Whether this process may take traffic: started, schema compatible, not draining.

Liveness asks nothing of others, and a database that goes away later does not make a
process unready: all replicas would leave the load balancer at once, and clients would be
refused instead of being told to come back.
"""

import structlog

STARTING = "starting"
DRAINING = "draining"

_log = structlog.get_logger(__name__)


class Health:
    """The state behind `/readyz`. `obstacle` says why not; None means ready."""

    __slots__ = ("_draining", "_obstacle")

    def __init__(self) -> None:
        self._obstacle: str | None = STARTING
        self._draining = False

    @property
    def obstacle(self) -> str | None:
        """What keeps this process from being ready, in words for an operator."""
        return DRAINING if self._draining else self._obstacle

    @property
    def can_serve(self) -> bool:
        """Whether requests that arrive can be answered; true while draining."""
        return self._obstacle is None

    @property
    def is_draining(self) -> bool:
        return self._draining

    def become_ready(self) -> None:
        self._obstacle = None

    def become_unready(self, obstacle: str) -> None:
        # Said once: who looks for the obstacle looks again every second until someone acts.
        if self._obstacle != obstacle:
            _log.error("not_ready", reason=obstacle)
        self._obstacle = obstacle

    def drain(self) -> None:
        """For good: a process that drains is about to end."""
        self._draining = True
