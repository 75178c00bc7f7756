"""Every route against every kind of token, generated from the route table.

The rules are those of docs/reference/wire.md, section 3. A route of the table that this
file has no rule for fails, so that none can be added without one.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold_state.allowances import Target
from commonhold_state.routes import CAPABILITIES, HEALTH, OWN, RESERVED, ROUTES, TABLE, Route
from tests.support.goldens.expectations import assert_refused
from tests.support.raw_http import Answer
from tests.support.wire_service import Wire, running

TOKENS = (
    "client:bare=bare,"
    "client:scope@user:alice=scope,"
    "client:id+alice-=id,"
    "client:both@user:alice+alice-=both"
)
PREVIOUS = "client:old@user:alice+alice-=old"
CONSTRAINED = ("scope", "id", "both", "old")
WHOLE = "this token's allowance does not reach the whole store"

# What a request names inside and outside of the allowance `user:alice` + `alice-`.
INSIDE: dict[Target, dict[str, Any]] = {
    Target.SCOPE: {"scope": "user:alice/proj:x"},
    Target.CONVERSATION: {"conversation_id": "alice-1"},
    Target.CONVERSATIONS: {"conversations": ["alice-1", "alice-2"]},
    Target.WHOLE_STORE: {},
}
OUTSIDE: dict[Target, dict[str, Any]] = {
    Target.SCOPE: {"scope": "user:bob"},
    Target.CONVERSATION: {"conversation_id": "bob-1"},
    Target.CONVERSATIONS: {"conversations": ["alice-1", "bob-2"]},
    Target.WHOLE_STORE: {},
}
REFUSED: dict[Target, str] = {
    Target.SCOPE: "this token's allowance does not reach scope 'user:bob'",
    Target.CONVERSATION: "this token's allowance does not reach conversation 'bob-1'",
    Target.CONVERSATIONS: "this token's allowance does not reach conversation 'bob-2'",
    Target.WHOLE_STORE: WHOLE,
}
# Which tokens reach a target that lies inside of both prefixes, and one that lies outside.
REACH_INSIDE = {
    Target.SCOPE: {"bare", "scope", "id", "both", "old"},
    Target.CONVERSATION: {"bare", "id", "both", "old"},
    Target.CONVERSATIONS: {"bare", "id", "both", "old"},
    Target.WHOLE_STORE: {"bare"},
}
REACH_OUTSIDE = {
    Target.SCOPE: {"bare", "id"},
    Target.CONVERSATION: {"bare"},
    Target.CONVERSATIONS: {"bare"},
    Target.WHOLE_STORE: {"bare"},
}
# Values of the deciding field that name nothing a prefix could be tested on.
NAMELESS: dict[Target, tuple[Any, ...]] = {
    Target.SCOPE: (None, 1, True, ["user:alice"], {"x": "user:alice"}),
    Target.CONVERSATION: (None, 1, ["alice-1"], {}),
    Target.CONVERSATIONS: (None, 1, "alice-1", {"0": "alice-1"}),
    Target.WHOLE_STORE: (),
}

each_route = pytest.mark.parametrize("route", TABLE.values(), ids=TABLE)
each_token = pytest.mark.parametrize("token", ["bare", *CONSTRAINED])


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with running(InMemoryStore(), tokens=TOKENS, previous=PREVIOUS) as service:
        yield service


def is_forbidden(answer: Answer) -> bool:
    if answer.status != 403:
        return False
    error = json.loads(answer.body)["error"]
    assert (error["code"], error["details"]) == ("forbidden", {})
    return True


async def ask(wire: Wire, route: Route, token: str | None, body: object) -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await wire.ask("POST", route.path, body=raw, token=token)


def test_every_route_has_a_rule() -> None:
    assert len(ROUTES) == 21
    assert len(TABLE) == len(ROUTES) + len(RESERVED) + len(OWN)
    for route in TABLE.values():
        assert route.target in REACH_INSIDE
        assert route.target in REACH_OUTSIDE


def test_a_route_acts_on_what_its_parameters_say() -> None:
    expected = {
        "memory": {Target.SCOPE},
        "conversation": {Target.CONVERSATION, Target.CONVERSATIONS},
        "store": {Target.WHOLE_STORE},
    }
    for route in ROUTES:
        assert route.target in expected[route.path.split("/")[2]]
    spanning = {route.path for route in ROUTES if route.target is Target.CONVERSATIONS}
    assert spanning == {
        "/v1/conversation/search_turns",
        "/v1/conversation/turn_redactions",
    }


@each_route
async def test_without_a_right_token_a_route_is_closed(wire: Wire, route: Route) -> None:
    for token in (None, "wrong", "client:bare=bare", ""):
        assert (await ask(wire, route, token, INSIDE[route.target])).status == 401


@each_route
@each_token
async def test_what_lies_inside_the_allowance(wire: Wire, route: Route, token: str) -> None:
    answer = await ask(wire, route, token, INSIDE[route.target])
    assert is_forbidden(answer) is (token not in REACH_INSIDE[route.target])


@each_route
@each_token
async def test_what_lies_outside_the_allowance(wire: Wire, route: Route, token: str) -> None:
    answer = await ask(wire, route, token, OUTSIDE[route.target])
    assert is_forbidden(answer) is (token not in REACH_OUTSIDE[route.target])
    if token == "both":
        assert_refused(answer, REFUSED[route.target], code="forbidden", status=403)


@each_route
async def test_naming_nothing_is_the_whole_store(wire: Wire, route: Route) -> None:
    (key,) = INSIDE[route.target] or ("ignored",)
    for token in CONSTRAINED:
        if token == "id" and route.target is Target.SCOPE:
            # An id prefix alone leaves every scope open, but a scope must still be named.
            continue
        bodies: list[dict[str, Any]] = [{key: value} for value in NAMELESS[route.target]]
        for body in ({}, *bodies):
            answer = await ask(wire, route, token, body)
            assert_refused(answer, WHOLE, code="forbidden", status=403)


async def test_an_id_prefix_leaves_every_scope_open_but_one_must_be_named(wire: Wire) -> None:
    for route in ROUTES:
        if route.target is Target.SCOPE:
            assert_refused(await ask(wire, route, "id", {}), WHOLE, code="forbidden", status=403)
            assert not is_forbidden(await ask(wire, route, "id", {"scope": "any:thing"}))


@each_route
async def test_a_reachable_field_that_the_route_ignores_opens_nothing(
    wire: Wire, route: Route
) -> None:
    fields: dict[str, Any] = {}
    for target in (Target.SCOPE, Target.CONVERSATION, Target.CONVERSATIONS):
        if target is not route.target:
            fields |= INSIDE[target]
    bodies: list[dict[str, Any]] = [{key: value} for key, value in fields.items()]
    for body in (fields, *bodies):
        answer = await ask(wire, route, "both", {"query": "x", **body})
        assert_refused(answer, WHOLE, code="forbidden", status=403)


@each_route
async def test_an_unreachable_field_that_the_route_ignores_refuses(
    wire: Wire, route: Route
) -> None:
    if route.target is Target.WHOLE_STORE:
        return
    for target in (Target.SCOPE, Target.CONVERSATION, Target.CONVERSATIONS):
        if target is not route.target:
            body = {**INSIDE[route.target], **OUTSIDE[target]}
            answer = await ask(wire, route, "both", body)
            assert_refused(answer, REFUSED[target], code="forbidden", status=403)


@each_route
async def test_the_allowance_comes_after_the_body_and_before_the_parameters(
    wire: Wire, route: Route
) -> None:
    assert_refused(await ask(wire, route, "both", b"{"), "request body must be JSON")
    assert_refused(await ask(wire, route, "both", b"[]"), "request body must be an object")
    broken = {**OUTSIDE[route.target], "actor": 5, "path": 5, "limit": "x", "query": 5}
    assert is_forbidden(await ask(wire, route, "both", broken))
    for fault in (b'"\\ud800"', b"1e400"):
        raw = json.dumps(OUTSIDE[route.target]).encode()[:-1]
        raw += b"," * (len(raw) > 1) + b'"n":' + fault + b"}"
        assert is_forbidden(await ask(wire, route, "both", raw))


async def test_the_prefix_is_tested_before_the_grammar(wire: Wire) -> None:
    answer = await wire.post("memory/read", {"scope": "ZZ", "path": "p"}, token="both")
    message = "this token's allowance does not reach scope 'ZZ'"
    assert_refused(answer, message, code="forbidden", status=403)


async def test_items_that_are_no_strings_pass_the_gate_and_fail_their_type(wire: Wire) -> None:
    for token in ("both", "bare"):
        answer = await wire.post(
            "conversation/search_turns",
            {"query": "x", "conversations": ["alice-1", 5]},
            token=token,
        )
        assert_refused(answer, "parameter 'conversations' must be a list of strings")


async def test_an_empty_list_of_conversations_passes(wire: Wire) -> None:
    for token in ("scope", "id", "both"):
        body = {"query": "x", "conversations": []}
        answer = await wire.post("conversation/search_turns", body, token=token)
        assert (answer.status, answer.text) == (200, '{"turns":[]}')


async def test_a_search_within_the_allowance_sees_nothing_else(wire: Wire) -> None:
    for name in ("alice-1", "bob-1"):
        turn = {"conversation_id": name, "messages": [{"role": "user", "content": "word"}]}
        await wire.post("conversation/append_turn", turn, token="bare")
    query = {"query": "word", "conversations": ["alice-1"]}
    answer = await wire.post("conversation/search_turns", query, token="both")
    found = json.loads(answer.body)["turns"]
    assert [turn["conversation_id"] for turn in found] == ["alice-1"]


async def test_everyone_with_a_token_may_read_the_handshake(wire: Wire) -> None:
    for token in ("bare", *CONSTRAINED):
        answer = await wire.ask("GET", CAPABILITIES, token=token)
        assert json.loads(answer.body)["client"] == f"client:{token}"
    assert (await wire.ask("GET", CAPABILITIES, token=None)).status == 401
    assert (await wire.ask("GET", HEALTH, token=None)).status == 200


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/mcp/x"])
async def test_mcp_is_fenced_from_constrained_tokens(wire: Wire, path: str) -> None:
    fence = (
        "this token's allowance does not reach /mcp — the surface serves the operator's"
        " mounts, which no prefix can fence"
    )
    for method in ("GET", "POST", "DELETE"):
        for token in CONSTRAINED:
            answer = await wire.ask(method, path, token=token, body=b"x" * 10)
            assert_refused(answer, fence, code="forbidden", status=403)
        assert (await wire.ask(method, path, token="bare")).status == 404
        assert (await wire.ask(method, path, token=None)).status == 401


async def test_attribution_is_the_clients(wire: Wire) -> None:
    body = {"scope": "user:alice", "path": "p", "content": "x", "actor": "me"}
    answer = await wire.post("memory/write", body, token="old")
    assert json.loads(answer.body)["document"]["actor"] == "client:old/me"
