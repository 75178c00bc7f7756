"""Telling JSON from what is none, alike on every parser."""

import gc
import json

import pytest

from commonhold_state.payloads import Payload, decode_payload
from commonhold_state.shapes import MAX_NESTING, MOST_VALUES, PLAIN, Shape, shapes_of
from tests.support.costs import cpu_seconds


def shape_of(raw: bytes) -> Shape:
    *_, last = (PLAIN, *shapes_of(raw))
    return last


def decode(raw: bytes) -> Payload:
    return decode_payload(raw, shape_of(raw))


def nest(depth: int, *, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    return opening * depth + closing * depth


@pytest.mark.parametrize(
    ("raw", "too_deep"),
    [
        (nest(512), False),
        (nest(513), True),
        (nest(513, opening=b'{"a":', closing=b"}"), True),
        (nest(512, opening=b'{"a":', closing=b"}"), False),
        (b"[" + b"[]," * 5000 + b"[]]", False),
        (nest(511)[:511] + b"[]," * 300 + b"[[]]" + nest(511)[511:], True),
        (nest(511)[:511] + b"[]," * 300 + b"[]" + nest(511)[511:], False),
        (b'"' + b"[" * 2000 + b'"', False),
        (b'"\\"' + b"[" * 2000 + b'"', False),
        (b'["' + b"\\\\" * 9 + b'",' + nest(512) + b"]", True),
        (b'["' + b'\\"' * 9 + b"[" * 600 + b'"]', False),
        (b"[" * 100_000, True),
        (b"]" * 600 + b"[" * 600, False),
        (b'"' + b'\\"' * 600 + b"[" * 600, False),
    ],
)
def test_nesting_is_counted_outside_of_strings(raw: bytes, *, too_deep: bool) -> None:
    assert shape_of(raw).is_too_deep is too_deep


@pytest.mark.parametrize(
    "unit",
    [
        b'"\\"[{',
        b'\\"[',
        b"[]",
        b"[{}],",
        b'{"a":[',
        b'"a[\\\\",[',
        b"\\[",
        b"[[[[[[[[]]]]]]]]",
    ],
)
def test_the_count_takes_linear_time(unit: bytes) -> None:
    def seconds(size: int) -> float:
        raw = unit * (size // len(unit))
        return cpu_seconds(lambda: shape_of(raw))

    small, large = seconds(200_000), seconds(1_600_000)
    # Eight times the size: quadratic work would take sixty-four times as long.
    assert large < max(small, 0.002) * 24


def test_the_limit_is_the_wires() -> None:
    assert MAX_NESTING == 512


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b'{"a":1,"b":{"c":[1e400]}}', "parameter 'b' holds a number out of range"),
        (b'{"a":-' + b"1" * 4301 + b"}", "parameter 'a' holds a number out of range"),
        (b'{"ok":1,"a":["\\udfff"]}', "parameter 'a' must not contain a lone surrogate"),
        (b'{"a":{"\\ud800":1}}', "parameter 'a' must not contain a lone surrogate"),
        (b'{"\\ud800":1}', "parameter '\\ud800' must not contain a lone surrogate"),
        (b'{"a":1e400,"b":"\\ud800"}', "parameter 'a' holds a number out of range"),
    ],
)
def test_what_no_store_can_hold_is_named(raw: bytes, fault: str) -> None:
    assert decode(raw).fault == fault


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":1e308,"b":0.1e-400,"c":-0.0,"d":1E2}',
        b'{"a":' + b"9" * 4300 + b',"b":-' + b"9" * 4300 + b"}",
        b'{"a":"\\ud83d\\ude00\\u0000"}',
        b' \t\r\n{"a" : [ ] } ',
    ],
)
def test_numbers_and_text_at_the_edge_are_read_exactly(raw: bytes) -> None:
    payload = decode(raw)
    assert payload.fault is None
    assert payload.body == json.loads(raw)
    assert [type(value) for value in payload.body.values()] == [
        type(value) for value in json.loads(raw).values()
    ]


def test_an_escaped_nul_is_noticed() -> None:
    assert decode(b'{"a":"\\u0000"}').has_nul
    assert not decode(b'{"a":"u0000"}').has_nul
    # This one is a backslash and digits; looking once more does no harm.
    assert decode(b'{"a":"\\\\u0000"}').body == {"a": "\\u0000"}


def test_order_of_keys_survives_both_paths() -> None:
    for raw in (b'{"z":1,"a":2,"m":3}', b'{"z":1e400,"a":2,"m":3}'):
        assert list(decode(raw).body) == ["z", "a", "m"]


@pytest.mark.parametrize(
    ("unit", "size"), [(b"0", 1), (b'"[,{"', 1), (b"[]", 2), (b'{"":0}', 2), (b"[[0]]", 3)]
)
def test_a_body_of_too_many_values_is_refused_before_it_is_decoded(unit: bytes, size: int) -> None:
    """Of `[[0]]` four million take 700 MB and stop the event loop for seconds."""
    count = MOST_VALUES // size
    fits = b'{"a":[' + b",".join([unit] * (count - 10)) + b"]}"
    assert not shape_of(fits).has_too_many_values
    with pytest.raises(ValueError, match="holds more than 2000000 values"):
        decode(b'{"a":[' + b",".join([unit] * (count + 10)) + b"]}")


def test_what_texts_hold_is_no_value() -> None:
    text = '[{,"\\' * MOST_VALUES
    raw = json.dumps({"a": text}).encode()
    assert shape_of(raw).values < 10
    assert decode(raw).body == {"a": text}


def test_the_collector_runs_again_behind_a_large_body() -> None:
    assert gc.isenabled()
    decode(b'{"a":[' + b"[]," * 100_000 + b"[]]}")
    with pytest.raises(ValueError, match="JSON"):
        decode(b'{"a":[' + b"[]," * 100_000 + b"[]")
    assert gc.isenabled()
