"""The kits: pytest classes that hold a store to its contract.

Subclass one and give it the fixture `store` (docs/reference/kits.md). A store passes a
kit whole or not at all: there is no flag to leave a test out.
"""

from commonhold.conformance.archiving import ArchivableContract
from commonhold.conformance.cache_limits import AtomicHitWindowCompliance
from commonhold.conformance.caches import CacheCompliance
from commonhold.conformance.claiming import ClaimsContract
from commonhold.conformance.clocks import BackwardsClock, ControlledClock, FrozenClock, TickingClock
from commonhold.conformance.conditions import ConditionalContract
from commonhold.conformance.conversation import ConversationStoreContract
from commonhold.conformance.digests import DigestibleContract
from commonhold.conformance.erasure import ErasureContract
from commonhold.conformance.expiring import ExpirableContract
from commonhold.conformance.guarded_conditions import GuardedConditionalContract
from commonhold.conformance.guarding import GuardedContract
from commonhold.conformance.memory import MemoryStoreContract
from commonhold.conformance.outlining import OutlinedContract
from commonhold.conformance.paging import PageableContract
from commonhold.conformance.portability import PortableContract
from commonhold.conformance.remembering import RememberingContract
from commonhold.conformance.search import SearchContract
from commonhold.conformance.search_within import SearchWithinContract

__all__ = [
    "ArchivableContract",
    "AtomicHitWindowCompliance",
    "BackwardsClock",
    "CacheCompliance",
    "ClaimsContract",
    "ConditionalContract",
    "ControlledClock",
    "ConversationStoreContract",
    "DigestibleContract",
    "ErasureContract",
    "ExpirableContract",
    "FrozenClock",
    "GuardedConditionalContract",
    "GuardedContract",
    "MemoryStoreContract",
    "OutlinedContract",
    "PageableContract",
    "PortableContract",
    "RememberingContract",
    "SearchContract",
    "SearchWithinContract",
    "TickingClock",
]
