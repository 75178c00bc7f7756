"""The kit of the memory seam (docs/reference/stores.md, sections 2 to 4 and 13)."""

from commonhold.conformance.memory_concurrency import ConcurrencySlice
from commonhold.conformance.memory_documents import DocumentSlice
from commonhold.conformance.memory_erasure import RedactionSlice
from commonhold.conformance.memory_formats import FormatSlice
from commonhold.conformance.memory_grammar import GrammarSlice
from commonhold.conformance.memory_ledger import LedgerSlice
from commonhold.conformance.memory_listings import ListingSlice, RenameSlice
from commonhold.conformance.memory_stamps import StampSlice


class MemoryStoreContract(
    DocumentSlice,
    ListingSlice,
    RenameSlice,
    RedactionSlice,
    LedgerSlice,
    GrammarSlice,
    FormatSlice,
    StampSlice,
    ConcurrencySlice,
):
    """What every MemoryStore does.

    A subclass gives the fixture `store` and the hooks `plant_newer_document`,
    `plant_newer_version` and `plant_extra`.
    """
