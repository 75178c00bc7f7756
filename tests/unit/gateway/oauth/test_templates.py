"""Claims in names: none reaches beyond its place, and no two make the same name."""

from hashlib import sha256
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonhold.contract.ids import check_scope
from commonhold_gateway.oauth.templates import REFUSE, ClaimError, Misfits, parse_template

HASH: Misfits = "hash"
MISFITS = [
    "a/b",
    "a:b",
    "a@b",
    "a+b",
    "*",
    "a b",
    "a\n",
    "\n",
    " ",
    "é",
    "аlice",
    "%2e",
    "a\x00",
    "\ud800",
    ".",
    "..",
    "x" * 129,
    "x" * 100_000,
    "sha256" + "0" * 64,
    "{sub}",
    "a#1",
    "bob/proj:erp",
]
NO_NAMES: list[Any] = [None, "", 1, 1.5, True, [], ["alice"], {"sub": "alice"}]


def render(text: str, *, misfits: Any = REFUSE, is_prefix: bool = False, **claims: Any) -> str:
    return parse_template(text, is_prefix=is_prefix).render(claims, misfits=misfits)


@pytest.mark.parametrize("value", ["alice", "A.b_c-D", "...", "x" * 128, "7f3c-11", "sha256"])
def test_a_value_that_fits_stands_as_it_is(value: str) -> None:
    assert render("user:{sub}", sub=value) == f"user:{value}"


@pytest.mark.parametrize("value", MISFITS)
def test_a_value_that_breaks_the_grammar_is_refused_without_being_quoted(value: str) -> None:
    with pytest.raises(ClaimError) as caught:
        render("user:{sub}", sub=value)
    assert str(caught.value) == "claim 'sub' holds what a name must not hold"


@pytest.mark.parametrize("value", MISFITS)
def test_it_is_hashed_by_setting_and_the_name_is_a_scope_of_one_segment(value: str) -> None:
    scope = render("user:{sub}", misfits=HASH, sub=value)
    digest = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    assert scope == f"user:sha256{digest}"
    assert check_scope(scope) == scope
    assert "/" not in scope


@pytest.mark.parametrize("misfits", [REFUSE, HASH])
@pytest.mark.parametrize("value", NO_NAMES, ids=repr)
def test_what_names_nobody_is_refused_by_any_setting(value: Any, misfits: str) -> None:
    with pytest.raises(ClaimError, match="claim 'sub' is"):
        render("user:{sub}", misfits=misfits, sub=value)


def test_a_value_that_is_a_template_is_not_filled_in_again() -> None:
    with pytest.raises(ClaimError):
        render("user:{sub}/proj:{proj}", sub="{proj}", proj="x")


def test_a_claim_may_have_the_name_of_a_url() -> None:
    claims = {"https://acme.example/tenant": "t1"}
    template = parse_template("org:{https://acme.example/tenant}/kb:main")
    assert template.render(claims, misfits=REFUSE) == "org:t1/kb:main"


def test_a_value_must_not_hold_the_character_that_ends_its_place() -> None:
    template = "org:{org}-{team}"
    assert render(template, org="acme", team="a-b") == "org:acme-a-b"
    with pytest.raises(ClaimError, match="'org'"):
        render(template, org="acme-a", team="b")


def test_a_conversation_prefix_reaches_nobody_whose_name_begins_alike() -> None:
    names = ["al", "alice", "al_", "al_x", "a", "al.x", "al-x", "al/x", "AL", "sha256" + "a" * 64]
    prefixes = [render("{sub}_", misfits=HASH, is_prefix=True, sub=name) for name in names]
    for one, other in combinations(prefixes, 2):
        assert not one.startswith(other)
        assert not other.startswith(one)


@given(st.text(min_size=1), st.text(min_size=1))
def test_two_values_never_make_one_name(one: str, other: str) -> None:
    scopes = {render("org:a-{x}_/user:{y}", misfits=HASH, x=v, y=v) for v in (one, other)}
    assert len(scopes) == len({one, other})


PAIRS = st.tuples(
    st.text(alphabet="ab_.-", min_size=1, max_size=4), st.text(alphabet="ab_.-", min_size=1)
)


@given(PAIRS, PAIRS)
def test_two_pairs_of_values_never_make_one_name(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    scopes = {render("org:{x}-{y}", misfits=HASH, x=x, y=y) for x, y in (one, other)}
    assert len(scopes) == len({one, other})


@pytest.mark.parametrize("text", ["user:{sub", "user:sub}", "user:{}", "user:{{sub}}"])
def test_a_stray_brace_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="brace"):
        parse_template(text)


@pytest.mark.parametrize(
    ("text", "claim"), [("user:{a}{b}", "a"), ("user:{a}x", "a"), ("{type}:x", "type")]
)
def test_a_claim_without_a_clear_end_is_refused(text: str, claim: str) -> None:
    with pytest.raises(ValueError, match=rf"after \{{{claim}\}}"):
        parse_template(text)


@pytest.mark.parametrize("text", ["{sub}", "c-{sub}", "{sub}0", "{org}_{sub}"])
def test_a_prefix_that_ends_with_a_claim_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"after \{sub\}"):
        parse_template(text, is_prefix=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("user:{sub}", "user:{email}"),
        ("user:{sub}", "user:ana"),
        ("user:a-{sub}", "user:{sub}"),
        ("org:acme/user:{sub}", "org:acme/user:bob"),
        ("org:{org}/user:{sub}", "org:acme/user:{sub}"),
        ("org:{https://a.example/b}", "org:{c}"),
    ],
)
def test_templates_that_could_make_one_name_meet(one: str, other: str) -> None:
    first, second = parse_template(one), parse_template(other)
    assert first.can_meet(second)
    assert second.can_meet(first)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("user:{sub}", "org:{sub}"),
        ("org:acme/user:{sub}", "org:beta/user:{sub}"),
        ("user:{sub}", "user:{sub}/proj:{proj}"),
        ("user:x-{sub}", "user:y-{sub}"),
        ("kb:main", "kb:main"),
    ],
)
def test_templates_that_could_not_do_not_meet(one: str, other: str) -> None:
    first, second = parse_template(one), parse_template(other)
    assert not first.can_meet(second)
    assert not second.can_meet(first)
