"""What every memory command is given beside its own arguments."""

import msgspec

from commonhold.contract.stores import MemoryEditor
from commonhold.usecases.mounts import MountTable

DEFAULT_INDEX_BUDGET = 8192


class MemoryContext(msgspec.Struct, frozen=True, kw_only=True):
    """One caller's view of the memory: the documents behind its mounts, and its name.

    `counts_mailboxes` adds the lines of docs/reference/memory-tool.md, section 9, that
    say how many records the mailboxes hold; it is for deployments that serve them.
    """

    documents: MemoryEditor
    mounts: MountTable
    actor: str | None = None
    index_budget: int = DEFAULT_INDEX_BUDGET
    counts_mailboxes: bool = False
