"""RemoteStore: the ports over wire 6, for whoever reaches a state service by its URL."""

from commonhold.adapters.remote.errors import ServiceAwayError, UnexpectedAnswerError
from commonhold.adapters.remote.options import RemoteOptions
from commonhold.adapters.remote.store import RemoteStore, open_remote_store, remote_store

__all__ = [
    "RemoteOptions",
    "RemoteStore",
    "ServiceAwayError",
    "UnexpectedAnswerError",
    "open_remote_store",
    "remote_store",
]
