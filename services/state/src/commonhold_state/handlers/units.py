"""The store routes: whole units out and in (docs/reference/wire.md, section 8)."""

from commonhold.wire.archives import (
    decode_conversation_archive,
    decode_scope_archive,
    require_storable_conversation,
    require_storable_scope,
)
from commonhold.wire.shapes import encode
from commonhold_state.calls import Call


async def scopes(call: Call) -> bytes:
    found = await call.measure("scopes", call.backend.portable.scopes())
    return encode({"scopes": found})


async def conversations(call: Call) -> bytes:
    found = await call.measure("conversations", call.backend.portable.conversations())
    return encode({"conversations": found})


async def restore_scope(call: Call) -> bytes:
    portable = call.backend.portable
    archive = decode_scope_archive(call.body)
    if call.has_nul:
        require_storable_scope(archive)
    target = call.guarded or portable
    await call.measure("restore_scope", target.restore_scope(archive))
    return b"{}"


async def restore_conversation(call: Call) -> bytes:
    portable = call.backend.portable
    archive = decode_conversation_archive(call.body)
    if call.has_nul:
        require_storable_conversation(archive)
    target = call.guarded or portable
    await call.measure("restore_conversation", target.restore_conversation(archive))
    return b"{}"
