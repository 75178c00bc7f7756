"""The grammars, row by row as docs/reference/grammar.md tables them."""

from collections.abc import Callable

import pytest

from commonhold.contract import (
    ActorInvalidError,
    ConfigurationError,
    ConversationIdInvalidError,
    PathInvalidError,
    ScopeInvalidError,
    check_actor,
    check_conversation_id,
    check_path,
    check_schema_name,
    check_scope,
)

SHAPE_OF_SCOPE = "does not match <type>:<id>[/...]"
SHAPE_OF_PATH = "segments must be [A-Za-z0-9_.-]{1,128} joined by '/'"
SHAPE_OF_ID = "must match [A-Za-z0-9_.-]{1,128} \u2014 one flat segment"
SHAPE_OF_ACTOR = "does not match <kind>:<id>[/...][#<turn>]"
LONG = "longer than 512 characters"

GOOD_SCOPES = (
    "user:1",
    "a:b",
    "user:1234/proj:erp",
    "u:...",
    "user:a.b_c-D",
    f"{'t' * 32}:x",
    f"x:{'i' * 128}",
    "/".join(["s:i"] * 8),
    "/".join([f"s:{'i' * 100}"] * 5)[:511],
    f"a_1:{'x' * 120}/" * 3 + f"b:{'y' * 128}",
)
BAD_SCOPES = {
    "": SHAPE_OF_SCOPE,
    "user": SHAPE_OF_SCOPE,
    "user:": SHAPE_OF_SCOPE,
    "User:1": SHAPE_OF_SCOPE,
    "1user:a": SHAPE_OF_SCOPE,
    "_u:a": SHAPE_OF_SCOPE,
    "u-x:a": SHAPE_OF_SCOPE,
    "user:a:b": SHAPE_OF_SCOPE,
    "user:a b": SHAPE_OF_SCOPE,
    " user:a": SHAPE_OF_SCOPE,
    "user:\u00e9": SHAPE_OF_SCOPE,
    "user:1\n": SHAPE_OF_SCOPE,
    "\nuser:1": SHAPE_OF_SCOPE,
    "/user:a": SHAPE_OF_SCOPE,
    "user:a/": SHAPE_OF_SCOPE,
    "user:a//user:b": SHAPE_OF_SCOPE,
    "tenant:acme/kb": SHAPE_OF_SCOPE,
    f"{'t' * 33}:x": SHAPE_OF_SCOPE,
    f"x:{'i' * 129}": SHAPE_OF_SCOPE,
    "/".join(["s:i"] * 9): "more than 8 segments",
    "/".join(["s:."] * 9): "more than 8 segments",
    "u:..": "id '..' is reserved",
    "a_1:.": "id '.' is reserved",
    "user:a/proj:..": "id '..' is reserved",
    "u:./u:..": "id '.' is reserved",
    f"User:{'a' * 600}": LONG,
    "\u00e9" * 513: LONG,
}
GOOD_PATHS = (
    "a",
    "notes/api",
    ".hidden",
    "...",
    "..foo",
    "foo..",
    "-",
    "CON",
    "a.md/b",
    "s" * 128,
    "/".join("a" * 16),
    "/".join(["a" * 127] * 4) + "b",
)
BAD_PATHS = {
    "": SHAPE_OF_PATH,
    "/a": SHAPE_OF_PATH,
    "a/": SHAPE_OF_PATH,
    "a//b": SHAPE_OF_PATH,
    "a b": SHAPE_OF_PATH,
    "a\\b": SHAPE_OF_PATH,
    "a\n": SHAPE_OF_PATH,
    "\u00e9": SHAPE_OF_PATH,
    "a:b": SHAPE_OF_PATH,
    "a%3Ab": SHAPE_OF_PATH,
    "~": SHAPE_OF_PATH,
    "\u0661": SHAPE_OF_PATH,
    "s" * 129: SHAPE_OF_PATH,
    "/".join("a" * 17): "more than 16 segments",
    ".": "segment '.' is reserved",
    "..": "segment '..' is reserved",
    "a/.": "segment '.' is reserved",
    "a/../b": "segment '..' is reserved",
    "../.": "segment '..' is reserved",
    "/".join(["a" * 127] * 4) + "bb": LONG,
    "\u00e9" * 513: LONG,
}
GOOD_IDS = ("c1", "conv-1.2_3", "A", "...", "..x", "-", "a" * 128)
BAD_IDS = {
    "": SHAPE_OF_ID,
    "a/b": SHAPE_OF_ID,
    "user:1": SHAPE_OF_ID,
    "a b": SHAPE_OF_ID,
    "a\n": SHAPE_OF_ID,
    "\u00e9": SHAPE_OF_ID,
    ".": "id '.' is reserved",
    "..": "id '..' is reserved",
    "a" * 129: "longer than 128 characters",
    "\u00e9" * 129: "longer than 128 characters",
}
GOOD_ACTORS = (
    "client:default",
    "claude-code:laptop",
    "a_b-c:x",
    "client:default/conv:x",
    "conv:abc#4",
    "a:b/c:d#10",
    f"a:b#{'9' * 600}",
)
BAD_ACTORS = {
    "client:default/me": SHAPE_OF_ACTOR,
    "a": SHAPE_OF_ACTOR,
    "a:": SHAPE_OF_ACTOR,
    "": SHAPE_OF_ACTOR,
    "a:b/": SHAPE_OF_ACTOR,
    "a:b/c": SHAPE_OF_ACTOR,
    "a:b:c": SHAPE_OF_ACTOR,
    "Claude:x": SHAPE_OF_ACTOR,
    "1a:b": SHAPE_OF_ACTOR,
    "a:b\n": SHAPE_OF_ACTOR,
    "a:b#": SHAPE_OF_ACTOR,
    "a:b#0": SHAPE_OF_ACTOR,
    "a:b#01": SHAPE_OF_ACTOR,
    "a:b#1#2": SHAPE_OF_ACTOR,
    "/".join(["a:b"] * 9): "more than 8 segments",
    "a:..": "id '..' is reserved",
    "a:.#3": "id '.' is reserved",
    f"a:{'b' * 511}": LONG,
}


@pytest.mark.parametrize("value", GOOD_SCOPES)
def test_a_scope_of_the_grammar_is_itself(value: str) -> None:
    assert check_scope(value) == value


@pytest.mark.parametrize("value", BAD_SCOPES)
def test_a_scope_outside_is_refused_by_the_first_rule_it_breaks(value: str) -> None:
    with pytest.raises(ScopeInvalidError) as refused:
        check_scope(value)
    assert refused.value.details == {"scope": value, "reason": BAD_SCOPES[value]}


@pytest.mark.parametrize("value", GOOD_PATHS)
def test_a_path_of_the_grammar_is_itself(value: str) -> None:
    assert check_path(value) == value


@pytest.mark.parametrize("value", BAD_PATHS)
def test_a_path_outside_is_refused_by_the_first_rule_it_breaks(value: str) -> None:
    with pytest.raises(PathInvalidError) as refused:
        check_path(value)
    assert refused.value.details == {"path": value, "reason": BAD_PATHS[value]}


@pytest.mark.parametrize("value", GOOD_IDS)
def test_a_conversation_id_of_the_grammar_is_itself(value: str) -> None:
    assert check_conversation_id(value) == value


@pytest.mark.parametrize("value", BAD_IDS)
def test_a_conversation_id_outside_is_refused_by_the_first_rule_it_breaks(value: str) -> None:
    with pytest.raises(ConversationIdInvalidError) as refused:
        check_conversation_id(value)
    assert refused.value.details == {"conversation_id": value, "reason": BAD_IDS[value]}


@pytest.mark.parametrize("value", GOOD_ACTORS)
def test_an_actor_of_the_grammar_is_itself(value: str) -> None:
    assert check_actor(value) == value


@pytest.mark.parametrize("value", BAD_ACTORS)
def test_an_actor_outside_is_refused_by_the_first_rule_it_breaks(value: str) -> None:
    with pytest.raises(ActorInvalidError) as refused:
        check_actor(value)
    assert refused.value.details == {"actor": value, "reason": BAD_ACTORS[value]}


@pytest.mark.parametrize("value", ["commonhold", "_", "a1_b", "a" * 63])
def test_a_schema_name_of_the_grammar_is_itself(value: str) -> None:
    assert check_schema_name(value) == value


@pytest.mark.parametrize("value", ["", "A", "1a", "a-b", "a.b", "a b", "a\n", 'a"', "a" * 64])
def test_another_schema_name_is_a_configuration_error(value: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        check_schema_name(value)
    assert repr(value) in str(refused.value)


@pytest.mark.parametrize(
    ("check", "segment", "length"),
    [
        (check_scope, "s:" + "i" * 125, 511),
        (check_path, "p" * 127, 512),
        (check_conversation_id, "c" * 128, 128),
    ],
)
def test_lengths_count_to_the_last_character(
    check: Callable[[str], str], segment: str, length: int
) -> None:
    whole = "/".join([segment] * 4) if length > len(segment) else segment
    value = whole + "x" * (length - len(whole))
    assert (len(value), check(value)) == (length, value)
