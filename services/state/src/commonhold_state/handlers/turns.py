"""The conversation routes (docs/reference/wire.md, section 7)."""

from collections.abc import Sequence

from commonhold.contract import ConversationProjection, ConversationTurn
from commonhold.contract.paging import PAGE_BYTES
from commonhold.contract.text import require_storable, require_storable_tree
from commonhold.contract.turns import (
    DEFAULT_SEARCH_LIMIT,
    DEFAULT_TRAIL_LIMIT,
    SEARCH_BOUND,
    TRAIL_BOUND,
)
from commonhold.wire.parameters import (
    decode_projection,
    optional_integer,
    optional_integers,
    optional_texts,
    optional_timestamp,
    required_messages,
    required_objects,
    required_text,
)
from commonhold.wire.shapes import encode
from commonhold_state.calls import Call
from commonhold_state.paging import answer_turns, fill_projections, fill_turns


async def append_turn(call: Call) -> bytes:
    conversation_id = required_text(call.body, "conversation_id")
    messages = required_messages(call.body, "messages")
    actor = call.recorded_actor()
    if call.has_nul:
        require_storable_tree(messages, name="messages")
    turns = call.guarded or call.backend.turns
    turn = await call.measure(
        "append_turn", turns.append_turn(conversation_id, messages, actor=actor)
    )
    return encode({"turn": turn})


async def read_turns(call: Call) -> bytes:
    conversation_id = required_text(call.body, "conversation_id")
    after = optional_integer(call.body, "after") or 0
    limit = optional_integer(call.body, "limit")

    async def read(after: int, limit: int) -> tuple[Sequence[ConversationTurn], bool]:
        weighed = call.backend.weighed
        if weighed is None:
            turns = call.backend.turns.read_turns(conversation_id, after=after, limit=limit)
            return await call.measure("read_turns", turns), False
        return await call.measure(
            "read_turns",
            weighed.read_turns_within(
                conversation_id, after=after, limit=limit, max_bytes=PAGE_BYTES
            ),
        )

    return await fill_turns(read, after=after, limit=limit)


async def last_turn_number(call: Call) -> bytes:
    conversation_id = required_text(call.body, "conversation_id")
    number = await call.measure(
        "last_turn_number", call.backend.turns.last_turn_number(conversation_id)
    )
    return encode({"turn": number})


async def search_turns(call: Call) -> bytes:
    limit = optional_integer(call.body, "limit")
    if limit is not None and limit > SEARCH_BOUND:
        raise ValueError(f"a search answers at most {SEARCH_BOUND} turns; narrow the query")
    query = required_text(call.body, "query")
    conversations = optional_texts(call.body, "conversations")
    turns = await call.measure(
        "search_turns",
        call.backend.turns.search_turns(
            query,
            conversations=conversations,
            limit=DEFAULT_SEARCH_LIMIT if limit is None else limit,
        ),
    )
    return answer_turns(turns)


async def append_projections(call: Call) -> bytes:
    conversation_id = required_text(call.body, "conversation_id")
    entries = [decode_projection(row) for row in required_objects(call.body, "entries")]
    if call.has_nul:
        for entry in entries:
            require_storable(entry.text, name="text")
    turns = call.guarded or call.backend.turns
    await call.measure("append_projections", turns.append_projections(conversation_id, entries))
    return b"{}"


async def read_projections(call: Call) -> bytes:
    conversation_id = required_text(call.body, "conversation_id")
    after = optional_integer(call.body, "after") or 0
    limit = optional_integer(call.body, "limit")

    async def read(
        after: int, limit: int, max_bytes: int
    ) -> tuple[Sequence[ConversationProjection], bool]:
        weighed = call.backend.weighed
        if weighed is None:
            entries = call.backend.turns.read_projections(conversation_id, after=after, limit=limit)
            return await call.measure("read_projections", entries), False
        return await call.measure(
            "read_projections",
            weighed.read_projections_within(
                conversation_id, after=after, limit=limit, max_bytes=max_bytes
            ),
        )

    return await fill_projections(read, after=after, limit=limit)


async def redact_turns(call: Call) -> bytes:
    erasable = call.backend.erasable
    conversation_id = required_text(call.body, "conversation_id")
    through = optional_integer(call.body, "through")
    turns = optional_integers(call.body, "turns")
    actor = call.recorded_actor()
    eraser = call.guarded or erasable
    count = await call.measure(
        "redact_turns",
        eraser.redact_turns(conversation_id, through=through, turns=turns, actor=actor),
    )
    return encode({"count": count})


async def turn_redactions(call: Call) -> bytes:
    erasable = call.backend.erasable
    limit = optional_integer(call.body, "limit")
    if limit is not None and limit > TRAIL_BOUND:
        raise ValueError(f"the trail answers at most {TRAIL_BOUND} acts; narrow the window")
    conversations = optional_texts(call.body, "conversations")
    since = optional_timestamp(call.body, "since")
    acts = await call.measure(
        "turn_redactions",
        erasable.turn_redactions(
            conversations=conversations,
            since=since,
            limit=DEFAULT_TRAIL_LIMIT if limit is None else limit,
        ),
    )
    return encode({"redactions": acts})
