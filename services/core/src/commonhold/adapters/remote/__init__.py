"""RemoteStore: the ports over wire 6, for whoever reaches a state service by its URL."""

from commonhold.adapters.remote.errors import ServiceAwayError, UnexpectedAnswerError
from commonhold.adapters.remote.options import RemoteOptions
from commonhold.adapters.remote.store import RemoteStore, open_remote_store, remote_store
from commonhold.adapters.remote.watching import ServiceWatch, open_when_there

__all__ = [
    "RemoteOptions",
    "RemoteStore",
    "ServiceAwayError",
    "ServiceWatch",
    "UnexpectedAnswerError",
    "open_remote_store",
    "open_when_there",
    "remote_store",
]
