"""The store routes: whole units out and in (docs/reference/wire.md, section 8)."""

from commonhold.contract.archives import check_conversation_archive, check_scope_archive
from commonhold.wire.archives import decode_conversation_archive, decode_scope_archive
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
        check_scope_archive(archive)
    target = call.guarded or portable
    await call.measure("restore_scope", target.restore_scope(archive))
    return b"{}"


async def restore_conversation(call: Call) -> bytes:
    portable = call.backend.portable
    archive = decode_conversation_archive(call.body)
    if call.has_nul:
        check_conversation_archive(archive)
    target = call.guarded or portable
    await call.measure("restore_conversation", target.restore_conversation(archive))
    return b"{}"
