"""Services with one broken rule each: of HTTP, of the limits, and of what a body must be."""

from codecs import BOM_UTF8

from commonhold.wire.answers import BODY_LIMIT_BYTES
from tests.support.mutants.wire_registry import after, ask, before, error_in, refuse, reword
from tests.support.wire_proxy import Exchange, right_token


@after("health_needs_no_token")
def asks_for_a_token_on_health(exchange: Exchange) -> None:
    if exchange.path == "/health":
        exchange.status = 401


@before("without_the_right_token_everything_else_is_401")
def lets_anybody_in(exchange: Exchange) -> None:
    right_token(exchange)


@after("an_unknown_path_is_404")
def refuses_unknown_paths_as_bad_requests(exchange: Exchange) -> None:
    if exchange.status == 404:
        exchange.status = 400


@after("a_wrong_method_is_405")
def does_not_say_which_method_is_right(exchange: Exchange) -> None:
    exchange.said.pop("Allow", None)


@after("the_handshake_has_its_keys_in_order")
def shakes_hands_in_another_order(exchange: Exchange) -> None:
    if exchange.route == "capabilities" and exchange.method == "GET":
        exchange.told = dict(reversed(exchange.told.items()))


@after("head_answers_as_get_without_a_body")
def knows_no_head(exchange: Exchange) -> None:
    if exchange.method == "HEAD":
        exchange.status = 405


@before("a_query_string_is_ignored")
def reads_the_query_string(exchange: Exchange) -> None:
    if exchange.query:
        ask(exchange, scope="zz")


@after("a_length_above_the_limit_is_413_before_the_body")
def leaves_a_caller_in_the_midst_of_a_body(exchange: Exchange) -> None:
    if exchange.too_long:
        exchange.said["connection"] = "keep-alive"


@after(
    "a_length_above_the_limit_is_413_before_the_body",
    "a_chunked_body_is_413_once_it_passes_the_limit",
)
def calls_a_long_body_a_bad_request(exchange: Exchange) -> None:
    if exchange.status == 413:
        exchange.status = 400


@before("without_a_token_a_length_above_the_limit_is_401")
def looks_at_the_length_before_the_token(exchange: Exchange) -> None:
    if exchange.too_long:
        right_token(exchange)


@before("a_body_as_long_as_the_limit_is_read")
def takes_the_limit_for_too_long(exchange: Exchange) -> None:
    if len(exchange.body) == BODY_LIMIT_BYTES:
        exchange.status = 413


@after("what_is_not_json_is_refused")
def fails_on_what_is_not_json(exchange: Exchange) -> None:
    if error_in(exchange).get("message") == "request body must be JSON":
        exchange.status = 500


@after("what_is_no_object_is_refused")
def takes_a_list_for_bad_json(exchange: Exchange) -> None:
    reword(exchange, "must be an object", "must be JSON")


@before("a_byte_order_mark_is_passed_over")
def stumbles_over_a_byte_order_mark(exchange: Exchange) -> None:
    if exchange.body.startswith(BOM_UTF8):
        refuse(exchange)


@after("a_missing_parameter_is_named", "a_malformed_entry_refuses_the_batch")
def does_not_name_what_is_missing(exchange: Exchange) -> None:
    reword(exchange, "missing parameter: ", "missing parameter")


@after(
    "a_mistyped_parameter_is_named",
    "the_first_fault_in_typing_order_is_reported",
    "a_mistyped_selector_is_named",
)
def does_not_name_what_is_mistyped(exchange: Exchange) -> None:
    reword(exchange, "parameter '", "'")


@before("unknown_keys_and_nulls_are_as_absent")
def refuses_unknown_keys(exchange: Exchange) -> None:
    if "surprise" in exchange.asked:
        refuse(exchange)


@before("of_two_equal_keys_the_last_wins")
def takes_the_first_of_equal_keys(exchange: Exchange) -> None:
    exchange.body = exchange.body.replace(b',"path":"b","path":"a"', b',"path":"b"')


@before("text_that_cannot_be_kept_is_refused")
def drops_what_it_cannot_keep(exchange: Exchange) -> None:
    exchange.body = exchange.body.replace(rb"\u0000", b"").replace(rb"\ud800", b"")


@before("numbers_that_overflow_are_refused")
def takes_an_overflow_for_a_version(exchange: Exchange) -> None:
    exchange.body = exchange.body.replace(b"1e400", b"1")
