"""The kit of the conversation seam (docs/reference/stores.md, sections 2, 3, 5 to 7 and 13)."""

from commonhold.conformance.conversation_projections import ProjectionSlice
from commonhold.conformance.conversation_rules import (
    ConversationFormatSlice,
    ConversationIdSlice,
    ConversationStampSlice,
)
from commonhold.conformance.conversation_turns import TurnSlice
from commonhold.conformance.search import SearchContract


class ConversationStoreContract(
    TurnSlice,
    ProjectionSlice,
    ConversationIdSlice,
    ConversationStampSlice,
    ConversationFormatSlice,
    SearchContract,
):
    """What every ConversationStore does.

    A subclass gives the fixture `store` and the hooks `plant_newer_turn`,
    `plant_malformed_turn`, `plant_newer_projection` and `plant_malformed_projection`.
    """
