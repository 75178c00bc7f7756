"""Stores whose methods are all bent in one way, for the tests that no small bug reaches."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta, timezone
from typing import Any

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import (
    CommonholdError,
    Page,
)
from tests.support.mutants.registry import (
    CONVERSATIONS,
    ERASURE,
    MEMORY,
    PAGES,
    PORTABLE,
    breaks,
)

PAGE_READS = ("list_documents_page", "versions_page", "history_page", "redactions_page")
LISTS = ("list_documents", "versions", "history", "redactions", "read_turns", "search_turns")
READS = (
    *PAGE_READS,
    *LISTS,
    "read",
    "last_turn_number",
    "read_projections",
    "turn_redactions",
    "scopes",
    "conversations",
)
WRITES = (
    "write",
    "delete",
    "rename",
    "redact",
    "append_turn",
    "append_projections",
    "redact_turns",
    "restore_scope",
    "restore_conversation",
)
EAST = timezone(timedelta(hours=5, minutes=30))
_replace = msgspec.structs.replace
Method = Callable[..., Awaitable[Any]]


def overriding(
    methods: Sequence[str], bend: Callable[[str, Method], Method]
) -> type[InMemoryStore]:
    """A base whose named methods are bent forms of InMemoryStore's own."""
    bent = {name: bend(name, getattr(InMemoryStore, name)) for name in methods}
    return type("Bent", (InMemoryStore,), bent)


def _on_an_empty_store(name: str, _method: Method) -> Method:
    async def call(self: Any, *arguments: Any, **options: Any) -> Any:
        return await getattr(InMemoryStore(), name)(*arguments, **options)

    return call


@breaks(
    MEMORY,
    "a_good_path_is_accepted",
    "a_good_scope_is_accepted",
    "a_write_is_visible_to_the_next_call",
)
@breaks(CONVERSATIONS, "a_good_id_is_accepted")
class LosesEverything(overriding(READS, _on_an_empty_store)):  # type: ignore[misc]  # made at run time
    pass


def _agreeing(_name: str, method: Method) -> Method:
    async def call(self: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return await method(self, *arguments, **options)
        except (CommonholdError, ValueError):
            return ()

    return call


@breaks(
    MEMORY,
    "a_bad_path_is_refused_by_every_method",
    "a_negative_versions_limit_is_refused",
    "text_that_cannot_be_kept_is_refused_whole",
)
@breaks(
    CONVERSATIONS,
    "a_bad_id_is_refused_by_every_method",
    "text_that_cannot_be_kept_is_refused_whole",
    "a_bad_id_is_refused",
)
@breaks(ERASURE, "a_bad_id_is_refused", "a_bad_window_is_refused")
@breaks(PAGES, "a_newer_row_is_refused_in_pages_too")
@breaks(
    PORTABLE,
    "a_bad_id_is_refused",
    "a_bad_row_of_a_conversation_is_refused_whole",
    "a_bad_scope_is_refused",
    "an_occupied_conversation_is_refused",
)
class AgreesToEverything(overriding((*READS, *WRITES), _agreeing)):  # type: ignore[misc]  # made at run time
    pass


def _backwards(_name: str, method: Method) -> Method:
    async def call(self: Any, *arguments: Any, **options: Any) -> Any:
        answer = await method(self, *arguments, **options)
        if isinstance(answer, Page):
            return Page(items=answer.items[::-1], next_cursor=answer.next_cursor)
        return answer[::-1] if isinstance(answer, tuple) else answer

    return call


@breaks(MEMORY, "versions_are_newest_first_with_full_content")
@breaks(PORTABLE, "a_conversation_lands_verbatim", "turns_may_have_gaps_and_any_order")
class AnswersBackwards(overriding(READS, _backwards)):  # type: ignore[misc]  # made at run time
    pass


def _capped(_name: str, method: Method) -> Method:
    async def call(self: Any, *arguments: Any, **options: Any) -> Any:
        answer = await method(self, *arguments, **options)
        return answer[:10] if isinstance(answer, tuple) else answer

    return call


@breaks(MEMORY, "history_has_no_default_bound", "versions_past_nine_order_by_number")
@breaks(CONVERSATIONS, "numbers_start_at_one_without_gaps")
@breaks(ERASURE, "the_trail_answers_fifty_by_default")
class AnswersTenRows(overriding(READS, _capped)):  # type: ignore[misc]  # made at run time
    pass


def _local(_name: str, method: Method) -> Method:
    async def call(self: Any, *arguments: Any, **options: Any) -> Any:
        answer = await method(self, *arguments, **options)
        if not isinstance(answer, tuple):
            return answer
        return tuple(
            _replace(row, created_at=row.created_at.astimezone(EAST))
            if hasattr(row, "created_at")
            else row
            for row in answer
        )

    return call


@breaks(MEMORY, "stamps_come_back_in_utc")
@breaks(CONVERSATIONS, "stamps_are_the_clocks_in_utc")
@breaks(PORTABLE, "stamps_are_normalised_to_utc")
class AnswersInLocalTime(overriding(LISTS, _local)):  # type: ignore[misc]  # made at run time
    pass


def _clock_again(_name: str, method: Method) -> Method:
    async def call(self: Any, *arguments: Any, **options: Any) -> Any:
        answer = await method(self, *arguments, **options)
        self._documents._clock.now()
        return answer

    return call


@breaks(CONVERSATIONS, "an_append_reads_the_clock_once")
@breaks(ERASURE, "a_redaction_reads_the_clock_once")
@breaks(PORTABLE, "restores_read_no_clock")
class ReadsTheClockAgain(overriding(WRITES, _clock_again)):  # type: ignore[misc]  # made at run time
    pass


def _huge_limits_overflow(_name: str, method: Method) -> Method:
    async def call(self: Any, *arguments: Any, **options: Any) -> Any:
        if options["limit"] > 2**62:
            raise OverflowError("value out of int64 range")
        return await method(self, *arguments, **options)

    return call


@breaks(PAGES, "huge_limits_are_numbers")
class OverflowsOnHugeLimits(overriding(PAGE_READS, _huge_limits_overflow)):  # type: ignore[misc]  # made at run time
    pass


def _marked_cursors(_name: str, method: Method) -> Method:
    async def call(self: Any, *arguments: Any, **options: Any) -> Any:
        cursor = options.get("cursor")
        if cursor is not None:
            options["cursor"] = cursor.removesuffix("\N{SNOWMAN}")
        page = await method(self, *arguments, **options)
        if page.next_cursor is None:
            return page
        return Page(items=page.items, next_cursor=f"{page.next_cursor}\N{SNOWMAN}")

    return call


@breaks(
    PAGES,
    "a_cursor_is_plain_text",
    "a_cursor_of_another_method_is_refused",
    "a_truncated_cursor_is_refused",
)
class GivesCursorsOutsideAscii(overriding(PAGE_READS, _marked_cursors)):  # type: ignore[misc]  # made at run time
    pass


def _bound_cursors(_name: str, method: Method) -> Method:
    async def call(self: Any, *arguments: Any, **options: Any) -> Any:
        mark = f"{arguments[0]}.{options['limit']}."
        cursor = options.get("cursor")
        if cursor is not None and cursor.startswith(mark):
            options["cursor"] = cursor.removeprefix(mark)
        page = await method(self, *arguments, **options)
        if page.next_cursor is None:
            return page
        return Page(items=page.items, next_cursor=f"{mark}{page.next_cursor}")

    return call


@breaks(
    PAGES,
    "a_cursor_is_not_bound_to_its_scope",
    "a_cursor_survives_what_happens_between_pages",
    "the_limit_may_change_between_pages",
)
class BindsCursorsToScopeAndLimit(overriding(PAGE_READS, _bound_cursors)):  # type: ignore[misc]  # made at run time
    pass


def _counted_cursors(name: str, method: Method) -> Method:
    async def call(self: Any, *arguments: Any, **options: Any) -> Any:
        cursor, limit = options.pop("cursor", None), options.pop("limit")
        start = 0 if cursor is None else int(cursor)
        rows = await getattr(self, name.removesuffix("_page"))(*arguments, **options)
        end = start + limit
        return Page(items=rows[start:end], next_cursor=str(end) if end < len(rows) else None)

    return call


@breaks(PAGES, "a_limit_below_one_is_refused")
class CountsRowsInEveryListing(overriding(PAGE_READS, _counted_cursors)):  # type: ignore[misc]  # made at run time
    pass
