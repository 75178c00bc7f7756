"""The memory commands and the history's tools, each at most once under a key.

docs/reference/memory-tool.md, section 19. The key is looked up before anything is read, so a
repeated edit answers as the first did although its text is long replaced.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from commonhold.contract.documents import MemoryDocument
from commonhold.contract.errors import MemoryConflictError
from commonhold.contract.idempotency import KEY_REUSED, IdempotencyKey
from commonhold.usecases.commands.creations import replaced_hint
from commonhold.usecases.commands.renames import answer_move, remove_source
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.dispatcher import COMMANDS, TOOL, dispatch
from commonhold.usecases.envelopes import ToolResult, fail, succeed
from commonhold.usecases.failures import answer_failure
from commonhold.usecases.handoff_notes import HANDOFF_PATH
from commonhold.usecases.history.contexts import HistoryContext
from commonhold.usecases.keyed_calls import (
    NO_KEYS,
    CallKey,
    KeyedStore,
    answered,
    call_key,
    keyed_store,
    recall_step,
    under_key,
)
from commonhold.usecases.receipts import Receipt, ReceiptCommand
from commonhold.usecases.virtual_paths import Place, resolve_document

_REMOVAL = 2


async def dispatch_once(
    context: MemoryContext, command: str, arguments: Mapping[str, Any], *, key: IdempotencyKey
) -> ToolResult:
    """As `dispatch`, but a call that succeeded under the key is answered and not run again."""
    chosen = COMMANDS.get(command)
    if chosen is None or chosen.only_shows:
        return await dispatch(context, command, arguments)
    store = keyed_store(context.documents)
    if store is None:
        return fail(NO_KEYS)
    call = call_key(key, TOOL, {**arguments, "command": command})
    try:
        return await answered(lambda: _dispatch_once(context, store, call, command, arguments))
    except Exception as error:  # noqa: BLE001 - the outermost frame of a tool: all is answered
        return answer_failure(TOOL, error, changes=True)


async def run_once(
    context: HistoryContext,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    key: IdempotencyKey,
    run: Callable[[HistoryContext], Awaitable[ToolResult]],
) -> ToolResult:
    """`handoff` or `continue_session` under a key: `run` repeats what the first run wrote."""
    store = keyed_store(context.memory.documents)
    if store is None:
        return fail(NO_KEYS)
    call = call_key(key, tool, arguments)
    try:
        return await answered(lambda: _run_once(context, store, call, run))
    except Exception as error:  # noqa: BLE001 - the outermost frame of a tool: all is answered
        return answer_failure(tool, error, changes=True)


async def _run_once(
    context: HistoryContext,
    store: KeyedStore,
    call: CallKey,
    run: Callable[[HistoryContext], Awaitable[ToolResult]],
) -> ToolResult:
    earlier = await recall_step(store, call, 1)
    wrote = None if earlier is None else earlier.answer
    if isinstance(wrote, MemoryDocument) and wrote.path != HANDOFF_PATH:
        # Only after an erasure, when the key matches any request.
        raise ValueError(KEY_REUSED)
    return await run(
        msgspec.structs.replace(
            context,
            memory=under_key(context.memory, store, call),
            earlier_pick_up=wrote if isinstance(wrote, MemoryDocument) else None,
        )
    )


async def _dispatch_once(
    context: MemoryContext,
    store: KeyedStore,
    call: CallKey,
    command: str,
    arguments: Mapping[str, Any],
) -> ToolResult:
    earlier = await _earlier(context, store, call, command, arguments)
    if earlier is not None:
        return earlier
    result = await dispatch(under_key(context, store, call), command, arguments)
    # What ran beside another run of the same call may have met that one's traces.
    return await _earlier(context, store, call, command, arguments) or result


async def _earlier(
    context: MemoryContext,
    store: KeyedStore,
    call: CallKey,
    command: str,
    arguments: Mapping[str, Any],
) -> ToolResult | None:
    """The answer of a run of this call that succeeded; None when there was none."""
    remembered = await recall_step(store, call, 1)
    if remembered is None:
        return None
    answer = remembered.answer
    if command == "rename" and isinstance(answer, MemoryDocument):
        return await _renamed(context, store, call, arguments, answer)
    place = resolve_document(context.mounts, arguments["path"])
    if command == "delete":
        number = answer if isinstance(answer, int) and not isinstance(answer, bool) else None
        return succeed(f"Deleted {place}", receipt=_receipt("delete", place, number))
    if not isinstance(answer, MemoryDocument):
        raise ValueError(KEY_REUSED)
    _require_same_place(place, answer)
    if command == "create":
        return succeed(
            f"Created {place} (v{answer.version})",
            hint=replaced_hint(_replaced_by(answer)),
            receipt=_receipt("create", place, answer.version),
        )
    return succeed(
        f"Edited {place} (v{answer.version})",
        receipt=_receipt("insert" if command == "insert" else "str_replace", place, answer.version),
    )


async def _renamed(
    context: MemoryContext,
    store: KeyedStore,
    call: CallKey,
    arguments: Mapping[str, Any],
    moved: MemoryDocument,
) -> ToolResult:
    source = resolve_document(context.mounts, arguments["old_path"])
    target = resolve_document(context.mounts, arguments["new_path"])
    _require_same_place(target, moved)
    if source.mount != target.mount and await recall_step(store, call, _REMOVAL) is None:
        await _finish_move(context, store, call, source, moved)
    return answer_move(source, target, moved)


async def _finish_move(
    context: MemoryContext, store: KeyedStore, call: CallKey, source: Place, moved: MemoryDocument
) -> None:
    """Delete the source of a move that was interrupted, unless it is another text by now."""
    left = await store.read(source.scope, source.document_path)
    if left is None:
        return
    if left.redacted or moved.redacted or left.content != moved.content:
        raise MemoryConflictError(
            scope=source.scope, path=source.document_path, reason="version_mismatch"
        )
    await remove_source(under_key(context, store, call, step=_REMOVAL), source, left)


def _replaced_by(written: MemoryDocument) -> int | None:
    return None if written.created_at == written.updated_at else written.version - 1


def _require_same_place(place: Place, document: MemoryDocument) -> None:
    """After an erasure a key matches any request; what it named is still told apart."""
    if (place.scope, place.document_path) != (document.scope, document.path):
        raise ValueError(KEY_REUSED)


def _receipt(command: ReceiptCommand, place: Place, number: int | None) -> Receipt | None:
    if number is None:
        return None
    return Receipt(
        command=command, mount_path=place.mount.mount_path, path=str(place), version=number
    )
