"""The memory routes (docs/reference/wire.md, section 6)."""

from collections.abc import Awaitable

from commonhold.contract import MemoryEntry, MemoryRedaction, MemoryVersion, Page, Pageable
from commonhold.contract.documents import DEFAULT_VERSIONS_LIMIT
from commonhold.contract.ids import check_path, check_scope
from commonhold.contract.paging import PAGE_SIZE
from commonhold.contract.text import require_storable
from commonhold.wire.parameters import (
    optional_integer,
    optional_text,
    optional_timestamp,
    required_text,
)
from commonhold.wire.shapes import encode
from commonhold_state.calls import Call
from commonhold_state.paging import answer_rows, empty_page, fill_page


async def read(call: Call) -> bytes:
    scope = required_text(call.body, "scope")
    path = required_text(call.body, "path")
    document = await call.measure("read", call.backend.documents.read(scope, path))
    return encode({"document": document})


async def write(call: Call) -> bytes:
    scope = required_text(call.body, "scope")
    path = required_text(call.body, "path")
    content = required_text(call.body, "content")
    actor = call.recorded_actor()
    expected = optional_integer(call.body, "expected_version")
    if call.has_nul:
        require_storable(content, name="content")
    documents = call.guarded or call.backend.documents
    document = await call.measure(
        "write",
        documents.write(scope, path, content, actor=actor, expected_version=expected),
    )
    return encode({"document": document})


async def delete(call: Call) -> bytes:
    scope = required_text(call.body, "scope")
    path = required_text(call.body, "path")
    documents = call.guarded or call.backend.documents
    deleted = await call.measure(
        "delete", documents.delete(scope, path, actor=call.recorded_actor())
    )
    return encode({"deleted": deleted})


async def rename(call: Call) -> bytes:
    scope = required_text(call.body, "scope")
    src = required_text(call.body, "src")
    dst = required_text(call.body, "dst")
    documents = call.guarded or call.backend.documents
    document = await call.measure(
        "rename", documents.rename(scope, src, dst, actor=call.recorded_actor())
    )
    return encode({"document": document})


async def redact(call: Call) -> bytes:
    scope = required_text(call.body, "scope")
    path = optional_text(call.body, "path")
    documents = call.guarded or call.backend.documents
    count = await call.measure(
        "redact", documents.redact(scope, path=path, actor=call.recorded_actor())
    )
    return encode({"count": count})


async def list_documents(call: Call) -> bytes:
    scope = required_text(call.body, "scope")
    prefix = optional_text(call.body, "prefix") or ""
    cursor, limit = _cursor_and_limit(call)
    if limit == 0:
        check_scope(scope)
        return empty_page("entries")
    pageable = _pageable(call, cursor)
    if pageable is None:
        entries = call.backend.documents.list_documents(scope, prefix=prefix)
        rows = await call.measure("list_documents", entries)
        return answer_rows("entries", rows[:limit])

    def fetch(cursor: str | None, limit: int) -> Awaitable[Page[MemoryEntry]]:
        page = pageable.list_documents_page(scope, prefix=prefix, cursor=cursor, limit=limit)
        return call.measure("list_documents", page)

    return await fill_page("entries", fetch, cursor=cursor, size=_size(limit), has_content=False)


async def versions(call: Call) -> bytes:
    scope = required_text(call.body, "scope")
    path = required_text(call.body, "path")
    cursor, limit = _cursor_and_limit(call)
    if limit == 0:
        check_scope(scope)
        check_path(path)
        return empty_page("versions")
    size = DEFAULT_VERSIONS_LIMIT if limit is None else limit
    pageable = _pageable(call, cursor)
    if pageable is None:
        rows = call.backend.documents.versions(scope, path, limit=size)
        return answer_rows("versions", await call.measure("versions", rows))

    def fetch(cursor: str | None, limit: int) -> Awaitable[Page[MemoryVersion]]:
        page = pageable.versions_page(scope, path, cursor=cursor, limit=limit)
        return call.measure("versions", page)

    return await fill_page("versions", fetch, cursor=cursor, size=_size(size))


async def history(call: Call) -> bytes:
    scope = required_text(call.body, "scope")
    since = optional_timestamp(call.body, "since")
    cursor, limit = _cursor_and_limit(call)
    if limit == 0:
        check_scope(scope)
        return empty_page("versions")
    pageable = _pageable(call, cursor)
    if pageable is None:
        rows = call.backend.documents.history(scope, since=since, limit=limit)
        return answer_rows("versions", await call.measure("history", rows))

    def fetch(cursor: str | None, limit: int) -> Awaitable[Page[MemoryVersion]]:
        page = pageable.history_page(scope, since=since, cursor=cursor, limit=limit)
        return call.measure("history", page)

    return await fill_page("versions", fetch, cursor=cursor, size=_size(limit))


async def redactions(call: Call) -> bytes:
    scope = required_text(call.body, "scope")
    since = optional_timestamp(call.body, "since")
    cursor, limit = _cursor_and_limit(call)
    if limit == 0:
        check_scope(scope)
        return empty_page("redactions")
    pageable = _pageable(call, cursor)
    if pageable is None:
        rows = call.backend.documents.redactions(scope, since=since, limit=limit)
        return answer_rows("redactions", await call.measure("redactions", rows))

    def fetch(cursor: str | None, limit: int) -> Awaitable[Page[MemoryRedaction]]:
        page = pageable.redactions_page(scope, since=since, cursor=cursor, limit=limit)
        return call.measure("redactions", page)

    return await fill_page("redactions", fetch, cursor=cursor, size=_size(limit), has_content=False)


def _cursor_and_limit(call: Call) -> tuple[str | None, int | None]:
    cursor = optional_text(call.body, "cursor")
    limit = optional_integer(call.body, "limit")
    if limit is not None and limit < 0:
        raise ValueError("limit must be >= 0")
    return cursor, limit


def _pageable(call: Call, cursor: str | None) -> Pageable | None:
    if call.backend.pageable is None and cursor is not None:
        raise call.backend.lacks("pages, so it takes no cursor")
    return call.backend.pageable


def _size(limit: int | None) -> int:
    return PAGE_SIZE if limit is None else min(limit, PAGE_SIZE)
