"""Services with one broken rule each, of what both seams promise."""

import json
from typing import Any

from tests.support.mutants.wire_registry import (
    after,
    ask,
    before,
    error_in,
    refuse,
    reword,
    succeed,
    tell_each,
)
from tests.support.wire_proxy import Exchange

LONGEST_PAGE = 500


@after("a_new_scope_is_empty")
def invents_documents(exchange: Exchange) -> None:
    if exchange.told == {"document": None}:
        exchange.told = {"document": {}}


@after("content_comes_back_as_it_was_sent", "a_scope_lands_verbatim")
def trims_content(exchange: Exchange) -> None:
    def change(row: dict[str, Any]) -> None:
        if isinstance(row.get("content"), str):
            row["content"] = row["content"].strip()

    tell_each(exchange, change)


@before(
    "an_actor_is_the_client_and_what_the_body_adds",
    "a_write_is_answered_and_read_back",
    "an_act_names_who_erased",
    "an_append_is_answered_and_visible_at_once",
    "repeating_counts_the_same_and_adds_an_act",
)
def forgets_who_acts(exchange: Exchange) -> None:
    asked = exchange.asked
    if isinstance(asked, dict) and asked.pop("actor", None) is not None:
        exchange.asked = asked


@after("stamps_are_utc_in_one_spelling_and_never_run_backwards")
def spells_utc_as_an_offset(exchange: Exchange) -> None:
    exchange.answer = exchange.answer.replace(b'Z"', b'+00:00"')


@after(
    "an_update_bumps_the_version_and_keeps_created_at",
    "numbers_continue_over_a_deletion",
    "a_matching_expected_version_is_accepted",
    "racing_writers_all_get_a_version",
    "a_rename_continues_the_numbers_of_its_destination",
    "writes_continue_from_the_highest_number",
)
def numbers_every_document_one(exchange: Exchange) -> None:
    told = exchange.told
    if told.get("document"):
        told["document"]["version"] = 1
        exchange.told = told


@before(
    "delete_removes_and_records_the_content",
    "a_listing_is_in_code_point_order_without_what_was_deleted",
)
def deletes_nothing(exchange: Exchange) -> None:
    if exchange.route == "memory/delete":
        succeed(exchange, {"deleted": True})


@after("deleting_nothing_is_false_and_silent")
def always_deletes_something(exchange: Exchange) -> None:
    exchange.answer = exchange.answer.replace(b'"deleted":false', b'"deleted":true')


@before("scopes_do_not_nest")
def nests_scopes(exchange: Exchange) -> None:
    if "/proj:" in str(exchange.asked.get("scope", "")):
        ask(exchange, scope=exchange.asked["scope"].partition("/")[0])


@before(
    "another_expected_version_is_refused_without_effect",
    "an_expected_version_of_nothing_is_refused",
    "of_racing_writers_that_expect_one_version_one_wins",
    "a_refusal_leaves_the_key_free",
)
def ignores_the_expected_version(exchange: Exchange) -> None:
    if exchange.route == "memory/write":
        ask(exchange, expected_version=None)


@after("a_rename_moves_and_records_both_rows", "history_spans_paths_and_deletions_newest_first")
def leaves_deletions_out_of_history(exchange: Exchange) -> None:
    told = exchange.told
    if exchange.route == "memory/history" and "versions" in told:
        told["versions"] = [row for row in told["versions"] if row["action"] != "deleted"]
        exchange.told = told


@after("history_spans_paths_and_deletions_newest_first")
def answers_history_oldest_first(exchange: Exchange) -> None:
    told = exchange.told
    if exchange.route == "memory/history" and "versions" in told:
        exchange.told = {**told, "versions": told["versions"][::-1]}


@after("a_rename_of_nothing_is_refused")
def calls_a_missing_source_a_conflict(exchange: Exchange) -> None:
    reword(exchange, "memory_document_not_found", "memory_conflict")


@after("a_rename_onto_a_live_document_is_refused")
def gives_another_reason_for_a_live_destination(exchange: Exchange) -> None:
    reword(exchange, "destination_exists", "version_mismatch")


@after("a_bad_scope_is_refused_by_every_route_before_a_bad_path", "a_limit_of_zero_answers_nothing")
def does_not_type_a_bad_scope(exchange: Exchange) -> None:
    reword(exchange, "memory_scope_invalid", "value_error")


@after(
    "a_bad_path_is_refused_by_every_route",
    "an_empty_path_is_no_scope",
    "a_bad_row_of_a_scope_is_refused_whole",
)
def does_not_type_a_bad_path(exchange: Exchange) -> None:
    reword(exchange, "memory_path_invalid", "value_error")


@after("a_listing_is_in_code_point_order_without_what_was_deleted")
def lists_backwards(exchange: Exchange) -> None:
    told = exchange.told
    if "entries" in told and exchange.route.startswith("memory/"):
        exchange.told = {**told, "entries": told["entries"][::-1]}


@before("a_prefix_is_plain_text")
def takes_signs_at_the_end_of_a_prefix_for_patterns(exchange: Exchange) -> None:
    prefix = exchange.asked.get("prefix")
    if prefix:
        ask(exchange, prefix=prefix.rstrip("_%"))


@after("versions_are_the_newest_first", "a_path_redaction_keeps_the_skeleton")
def answers_versions_oldest_first_and_none_erased(exchange: Exchange) -> None:
    told = exchange.told
    if exchange.route == "memory/versions" and "versions" in told:
        rows = [{**row, "redacted": False} for row in told["versions"][::-1]]
        exchange.told = {**told, "versions": rows}


@after("since_is_inclusive")
def takes_since_for_exclusive(exchange: Exchange) -> None:
    told, since = exchange.told, exchange.asked.get("since")
    if since and "versions" in told:
        stamp = since.replace("+00:00", "Z")
        rows = [row for row in told["versions"] if row["created_at"] != stamp]
        exchange.told = {**told, "versions": rows}


@before("a_bad_since_is_refused")
def passes_over_a_bad_since(exchange: Exchange) -> None:
    if exchange.asked.get("since") in {"yesterday", "2026-01-01"}:
        ask(exchange, since=None)


@before("a_negative_limit_is_refused_before_the_names", "a_negative_window_is_refused")
def takes_negative_numbers_for_none(exchange: Exchange) -> None:
    asked = exchange.asked
    exchange.asked = {
        name: None if isinstance(value, int) and value < 0 else value
        for name, value in asked.items()
    }


@after(
    "a_scope_redaction_covers_every_path_and_no_other_scope",
    "a_racing_redaction_leaves_no_older_content",
    "a_write_after_a_redaction_is_clean",
    "a_replay_after_a_redaction_is_empty",
)
def leaks_what_was_erased(exchange: Exchange) -> None:
    def change(row: dict[str, Any]) -> None:
        if row.get("redacted") is True and "content" in row:
            row["content"] = "leak"

    tell_each(exchange, change)


@after(
    "a_repeated_redaction_counts_the_same_and_adds_an_act", "redacting_nothing_is_zero_and_silent"
)
def counts_one_more_path(exchange: Exchange) -> None:
    if exchange.route == "memory/redact" and exchange.status == 200:
        exchange.told = {"count": exchange.told["count"] + 1}


@after(
    "pages_joined_are_the_whole_listing",
    "a_cursor_is_there_exactly_when_rows_follow",
    "a_cursor_of_another_listing_is_refused",
)
def never_gives_a_cursor(exchange: Exchange) -> None:
    told = exchange.told
    if "next_cursor" in told:
        exchange.told = {**told, "next_cursor": None}


@before("a_limit_of_zero_answers_nothing")
def takes_a_limit_of_zero_for_one(exchange: Exchange) -> None:
    if exchange.asked.get("limit") == 0:
        ask(exchange, limit=1)


@before("a_huge_limit_is_a_number")
def refuses_huge_limits(exchange: Exchange) -> None:
    if isinstance(limit := exchange.asked.get("limit"), int) and limit > LONGEST_PAGE:
        refuse(exchange)


@after("junk_is_not_a_cursor")
def does_not_say_which_cursor_is_malformed(exchange: Exchange) -> None:
    reword(exchange, "malformed list cursor", "malformed cursor")


@before("a_cursor_survives_what_happens_between_pages")
def starts_over_at_every_cursor(exchange: Exchange) -> None:
    if "cursor" in exchange.asked:
        ask(exchange, cursor=None)


@after(
    "a_new_conversation_is_empty",
    "numbers_start_at_one_without_gaps",
    "appending_continues_the_numbers",
)
def counts_turns_from_zero(exchange: Exchange) -> None:
    if exchange.route == "conversation/last_turn_number" and exchange.status == 200:
        exchange.told = {"turn": exchange.told["turn"] + 1}


@after("messages_come_back_in_their_full_form")
def leaves_nulls_out_of_messages(exchange: Exchange) -> None:
    def change(row: dict[str, Any]) -> None:
        if "role" in row:
            for key in [key for key, value in row.items() if value is None]:
                del row[key]

    tell_each(exchange, change)


@after("arguments_keep_key_order_and_number_types")
def sorts_the_keys_of_arguments(exchange: Exchange) -> None:
    if exchange.route == "conversation/read_turns":
        exchange.answer = json.dumps(exchange.told, sort_keys=True).encode()


@after("a_malformed_message_is_refused_whole", "an_empty_message_list_is_refused")
def does_not_say_what_is_wrong_with_a_message(exchange: Exchange) -> None:
    if exchange.route == "conversation/append_turn" and exchange.status == 400:
        refuse(exchange)


@before("after_is_exclusive_and_a_limit_keeps_the_oldest", "after_and_limit_cut_the_entries")
def takes_after_for_inclusive(exchange: Exchange) -> None:
    if exchange.asked.get("after"):
        ask(exchange, after=exchange.asked["after"] - 1)


@after("a_bad_id_is_refused_by_every_route")
def does_not_type_a_bad_id(exchange: Exchange) -> None:
    reword(exchange, "agent_conversation_id_invalid", "value_error")


@after("racing_appenders_all_get_a_number")
def numbers_every_turn_one(exchange: Exchange) -> None:
    if exchange.route == "conversation/append_turn" and exchange.status == 200:
        told = exchange.told
        exchange.told = {"turn": {**told["turn"], "turn": 1}}


@before("conversations_are_apart", "ids_narrow_the_search_and_count_once")
def mixes_conversations(exchange: Exchange) -> None:
    name = exchange.asked.get("conversation_id")
    if isinstance(name, str):
        ask(exchange, conversation_id=name.rpartition("-")[0])


@after("entries_come_back_by_turn_span_and_insertion")
def orders_entries_by_text(exchange: Exchange) -> None:
    told = exchange.told
    if exchange.route == "conversation/read_projections" and "entries" in told:
        rows = sorted(told["entries"], key=lambda entry: str(entry["text"]))
        exchange.told = {**told, "entries": rows}


@before("an_empty_batch_creates_nothing")
def refuses_an_empty_batch(exchange: Exchange) -> None:
    if exchange.asked.get("entries") == []:
        refuse(exchange)


@before("a_malformed_entry_refuses_the_batch", "the_largest_turn_number_may_be_projected")
def keeps_the_first_entry_of_a_batch_and_small_turns(exchange: Exchange) -> None:
    entries = exchange.asked.get("entries")
    if entries:
        first = {**entries[0], "turn": min(entries[0]["turn"], LONGEST_PAGE)}
        ask(exchange, entries=[first])


@before("a_turn_never_written_may_be_projected")
def projects_nothing_ahead(exchange: Exchange) -> None:
    if any(entry.get("turn") == 9 for entry in exchange.asked.get("entries") or ()):
        refuse(exchange)


@after(
    "text_tool_names_arguments_and_results_are_found",
    "every_term_must_occur_in_any_order_and_case",
    "terms_are_never_patterns",
    "hits_are_newest_first_and_cut_by_the_limit",
    "without_ids_the_whole_store_is_searched",
    "search_forgets_what_was_erased",
    "a_conversation_lands_verbatim",
)
def finds_oldest_first_and_one_less(exchange: Exchange) -> None:
    if exchange.route == "conversation/search_turns" and exchange.status == 200:
        exchange.told = {"turns": exchange.told["turns"][::-1][1:]}


@after("hits_are_newest_first_and_cut_by_the_limit", "without_ids_the_whole_store_is_searched")
def finds_oldest_first(exchange: Exchange) -> None:
    if exchange.route == "conversation/search_turns" and exchange.status == 200:
        exchange.told = {"turns": exchange.told["turns"][::-1]}


@before("bad_queries_and_limits_are_refused_in_order", "the_trail_is_narrowed_and_bounded")
def bends_limits_into_their_bounds(exchange: Exchange) -> None:
    if isinstance(limit := exchange.asked.get("limit"), int):
        ask(exchange, limit=min(max(limit, 1), LONGEST_PAGE))


@before(
    "everything_is_blanked_but_the_skeleton",
    "selectors_choose_the_turns",
    "covering_projections_lose_their_text_only",
    "a_racing_redaction_leaves_no_older_turn",
)
def erases_nothing(exchange: Exchange) -> None:
    if exchange.route == "conversation/redact_turns":
        ask(exchange, turns=[], through=None)


@before("bad_selectors_change_nothing")
def takes_the_first_of_two_selectors(exchange: Exchange) -> None:
    if exchange.asked.get("through") is not None and "turns" in exchange.asked:
        ask(exchange, turns=None)


@after("an_unknown_conversation_is_zero")
def counts_one_more_turn(exchange: Exchange) -> None:
    if exchange.route == "conversation/redact_turns" and exchange.status == 200:
        exchange.told = {"count": exchange.told["count"] + 1}


@after("an_occupied_target_is_refused")
def restores_over_what_is_there(exchange: Exchange) -> None:
    if error_in(exchange).get("details", {}).get("reason") == "target_occupied":
        succeed(exchange, {})


@after("a_bad_row_of_a_scope_is_refused_whole", "a_bad_row_of_a_conversation_is_refused_whole")
def takes_any_row(exchange: Exchange) -> None:
    if exchange.route.startswith("store/restore") and exchange.status == 400:
        succeed(exchange, {})


@after("a_row_without_a_key_is_refused_by_its_name")
def does_not_name_what_a_row_lacks(exchange: Exchange) -> None:
    reword(exchange, "malformed request: ", "malformed row: ")


@after("units_are_listed_in_order")
def lists_no_units(exchange: Exchange) -> None:
    if exchange.route in {"store/scopes", "store/conversations"}:
        exchange.told = {name: [] for name in exchange.told}


@before(
    "a_repeated_request_happens_once",
    "racing_repeats_happen_once",
    "another_request_under_the_key_is_refused",
    "a_bad_key_is_refused",
)
def ignores_keys(exchange: Exchange) -> None:
    for name in [name for name in exchange.headers if name.lower() == "idempotency-key"]:
        del exchange.headers[name]
