"""Stores that are wrong as a whole: cluttered, incomplete, on a clock of their own."""

from datetime import datetime, timedelta, timezone

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import (
    Clock,
    ConversationProjection,
    Message,
)
from commonhold.contract.clock import read_clock
from tests.support.mutants.registry import (
    CLAIMS,
    CONDITIONS,
    CONVERSATIONS,
    DIGESTS,
    ERASURE,
    FENCES,
    KEYS,
    MEMORY,
    OUTLINES,
    PAGES,
    PORTABLE,
    breaks,
)

EAST = timezone(timedelta(hours=5, minutes=30))


@breaks(
    MEMORY,
    "a_deletion_is_visible_to_the_next_call",
    "a_listing_row_agrees_with_the_document",
    "reading_records_nothing",
)
@breaks(CONVERSATIONS, "an_actor_is_recorded_as_given", "an_append_is_answered_and_visible_at_once")
@breaks(PORTABLE, "the_highest_numbers_land")
class StartsCluttered(InMemoryStore):
    def __init__(self, *, clock: Clock) -> None:
        super().__init__(clock=clock)
        for scope in ("user:ada", "user:bob"):
            self._documents.write(scope, "zz", "clutter", actor=None, expected_version=None)
            self._documents.redact(scope, path=None, actor=None)
        for name in ("thread-a", "thread-b", "never-written"):
            self._conversations.append_turn(name, [Message(role="user", content="c")], actor=None)
            entry = ConversationProjection(turn=1, kind="log", text="clutter")
            self._conversations.append_projections(name, [entry])


@breaks(
    MEMORY,
    "a_new_store_is_empty",
    "an_unknown_scope_is_empty",
    "the_store_is_a_memory_store",
    "the_store_says_whether_its_version_check_is_race_safe",
)
@breaks(
    CONVERSATIONS,
    "a_new_store_has_no_turns",
    "projections_start_empty",
    "the_store_is_a_conversation_store",
)
@breaks(ERASURE, "an_act_is_not_older_than_what_it_blanks", "the_store_is_erasable")
@breaks(PAGES, "an_empty_listing_is_one_empty_page", "the_store_is_pageable")
@breaks(
    PORTABLE,
    "a_new_store_lists_no_units",
    "the_store_is_portable",
    "the_units_name_wins_over_its_rows",
)
@breaks(KEYS, "a_refused_restore_leaves_the_key_free", "the_store_is_guarded")
@breaks(FENCES, "the_store_searches_within_prefixes")
@breaks(CONDITIONS, "the_store_is_conditional")
@breaks(DIGESTS, "the_store_digests")
@breaks(CLAIMS, "the_store_is_fenced")
@breaks(OUTLINES, "the_store_is_outlined")
class LacksMethods(InMemoryStore):
    supports_optimistic_concurrency = "yes"  # type: ignore[assignment]  # the fault
    redactions = None  # type: ignore[assignment]  # the fault
    read_projections = None  # type: ignore[assignment]  # the fault
    turn_redactions = None  # type: ignore[assignment]  # the fault
    redactions_page = None  # type: ignore[assignment]  # the fault
    conversations = None  # type: ignore[assignment]  # the fault
    guarded = None  # type: ignore[assignment]  # the fault
    outline = None  # type: ignore[assignment]  # the fault
    rename_if = None  # type: ignore[assignment]  # the fault
    search_turns_within = None  # type: ignore[assignment]  # the fault
    digest_documents_page = None  # type: ignore[assignment]  # the fault


class _HighestReading:
    """One newest stamp for the whole store."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._newest: datetime | None = None

    def now(self) -> datetime:
        reading = read_clock(self._clock)
        self._newest = reading if self._newest is None else max(reading, self._newest)
        return self._newest


@breaks(MEMORY, "paths_are_clamped_apart")
@breaks(CONVERSATIONS, "conversations_are_clamped_apart")
class ClampsEverythingTogether(InMemoryStore):
    def __init__(self, *, clock: Clock) -> None:
        super().__init__(clock=_HighestReading(clock))


class _FirstReading:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._first: datetime | None = None

    def now(self) -> datetime:
        self._first = self._first or self._clock.now()
        return self._first


@breaks(MEMORY, "the_trail_is_cut_as_history_is")
@breaks(CONVERSATIONS, "a_clamped_conversation_follows_the_clock_again")
@breaks(ERASURE, "the_trail_is_newest_first_over_the_whole_store")
class HoldsTheFirstStamp(InMemoryStore):
    def __init__(self, *, clock: Clock) -> None:
        super().__init__(clock=_FirstReading(clock))


class _AnyReading:
    """Makes an aware reading of a naive one, as a driver may."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> datetime:
        reading = self._clock.now()
        return reading if reading.tzinfo else reading.replace(tzinfo=EAST)


@breaks(MEMORY, "a_naive_clock_is_refused_without_effect")
@breaks(CONVERSATIONS, "a_naive_clock_is_refused_without_effect")
class GuessesOffsets(InMemoryStore):
    def __init__(self, *, clock: Clock) -> None:
        super().__init__(clock=_AnyReading(clock))
