"""Where the id of a request comes from, and what is no id."""

import re

import pytest

from commonhold.ops.request_ids import request_id_of

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("headers", "known"),
    [
        ({"x-request-id": "a"}, "a"),
        ({"x-request-id": "~" * 128, "traceparent": PARENT}, "~" * 128),
        ({"traceparent": PARENT}, TRACE),
        # A later version of the header may say more.
        ({"traceparent": f"{PARENT}-more"}, TRACE),
        ({"x-request-id": "", "traceparent": PARENT}, TRACE),
        ({"x-request-id": "a b", "traceparent": PARENT}, TRACE),
        ({"x-request-id": "a\n", "traceparent": PARENT}, TRACE),
        ({"x-request-id": "é", "traceparent": PARENT}, TRACE),
        ({"x-request-id": "a" * 129, "traceparent": PARENT}, TRACE),
    ],
)
def test_a_given_id_comes_first_and_the_trace_after_it(headers: dict[str, str], known: str) -> None:
    assert request_id_of(headers) == known


@pytest.mark.parametrize(
    "headers", [{}, {"traceparent": PARENT.upper()}, {"traceparent": f"00-{TRACE}"}]
)
def test_without_one_it_is_fresh(headers: dict[str, str]) -> None:
    first, second = request_id_of(headers), request_id_of(headers)
    assert re.fullmatch("[0-9a-f]{32}", first)
    assert first != second
    assert first != TRACE
