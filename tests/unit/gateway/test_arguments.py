"""Arguments are checked before a tool runs (docs/reference/mcp.md, section 7)."""

from typing import Any

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold_gateway.tools.arguments import (
    InvalidArgumentsError,
    MemoryArguments,
    checker,
)
from tests.support.gateway_service import RunningGateway

CHECK = checker(MemoryArguments)
CHOICES = "'view', 'create', 'str_replace', 'insert', 'delete' or 'rename'"
NUMBER = "Input should be a valid integer"
NOT_A_NUMBER = "Input should be a valid integer, unable to parse string as an integer"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "command: Field required"),
        ({"command": "view", "bogus": 1}, "bogus: Extra inputs are not permitted"),
        ({"command": "view", "path": 7}, "path: Input should be a valid string"),
        ({"command": "view", "path": True}, "path: Input should be a valid string"),
        ({"command": "look"}, f"command: Input should be {CHOICES}"),
        ({"command": None}, f"command: Input should be {CHOICES}"),
        (
            {"path": 7, "bogus": 1},
            (
                "command: Field required; path: Input should be a valid string;"
                " bogus: Extra inputs are not permitted"
            ),
        ),
        (
            {"command": "view", "view_range": [1, "x"]},
            f"view_range.1: {NOT_A_NUMBER}",
        ),
        ({"command": "view", "view_range": 3}, "view_range: Input should be a valid list"),
        (
            {"command": "insert", "insert_line": 1.5},
            "insert_line: Input should be a valid integer, got a number with a fractional part",
        ),
        (
            {"command": "insert", "insert_line": True},
            "insert_line: Input should be a valid integer",
        ),
        (
            {"command": "view", "view_range": [True, 2]},
            f"view_range.0: {NUMBER}",
        ),
    ],
)
def test_what_is_wrong_is_told_field_by_field(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidArgumentsError) as caught:
        CHECK(arguments)
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"view_range": ["x"] * 100_000}, f"view_range.0: {NOT_A_NUMBER}"),
        (
            {f"k{number}": 1 for number in range(100_000)},
            "; ".join(f"k{number}: Extra inputs are not permitted" for number in range(10)),
        ),
    ],
    ids=["items", "names"],
)
def test_a_body_of_faults_is_told_in_short(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidArgumentsError) as caught:
        CHECK({**arguments, "command": "view"})
    assert str(caught.value) == told


@pytest.mark.parametrize(("given", "taken"), [(1, 1), ("1", 1), ("-1", -1), (2.0, 2), (None, None)])
def test_an_integer_may_be_a_string_of_digits(given: Any, taken: int | None) -> None:
    assert CHECK({"command": "insert", "insert_line": given})["insert_line"] == taken


async def test_a_failure_is_told_in_band_and_nothing_runs(
    gateway: RunningGateway, store: InMemoryStore
) -> None:
    answer = await gateway.call("memory", command="create", path="/user/a", content="x", mode="w")
    assert answer.failed
    assert answer.text == (
        "Invalid arguments for tool 'memory': mode: Extra inputs are not permitted"
    )
    assert await store.read("user:ana", "a") is None


async def test_a_tool_that_does_not_exist_is_told_in_band(gateway: RunningGateway) -> None:
    assert await gateway.call("nosuch") == (True, "Tool 'nosuch' not found", None)


async def test_arguments_that_are_absent_or_null_are_none(gateway: RunningGateway) -> None:
    for params in ({"name": "memory"}, {"name": "memory", "arguments": None}):
        reply = await gateway.request("tools/call", params)
        text = reply["result"]["content"][0]["text"]
        assert text == "Invalid arguments for tool 'memory': command: Field required"


async def test_arguments_that_are_no_object_are_the_protocols_error(
    gateway: RunningGateway,
) -> None:
    reply = await gateway.request("tools/call", {"name": "memory", "arguments": [1]})
    assert reply["error"]["code"] == -32602
