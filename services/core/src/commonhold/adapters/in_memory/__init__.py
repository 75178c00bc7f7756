"""The ports in dicts: for fast tests, examples, and as the model other stores are held to."""

from commonhold.adapters.in_memory.cache import InMemoryCache
from commonhold.adapters.in_memory.store import InMemoryStore

__all__ = ["InMemoryCache", "InMemoryStore"]
