"""What `tools/list` shows (docs/reference/mcp.md, section 6)."""

import json
from copy import deepcopy
from typing import Any, get_type_hints

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold_gateway.tools.arguments import (
    ContinueArguments,
    HandoffArguments,
    MemoryArguments,
    NoArguments,
    RecallArguments,
    SearchArguments,
    SkillArguments,
)
from commonhold_gateway.tools.table import TOOLS
from tests.support.gateway_service import RunningGateway, reach_of, running_gateway
from tests.support.plain_store import PlainStore

TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
NUMBER = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
COMMANDS = ["view", "create", "str_replace", "insert", "delete", "rename"]
SCHEMAS: dict[str, dict[str, Any]] = {
    "memory": {
        "type": "object",
        "additionalProperties": False,
        "required": ["command"],
        "properties": {
            "command": {"enum": COMMANDS, "type": "string"},
            "path": TEXT,
            "view_range": {
                "anyOf": [{"items": {"type": "integer"}, "type": "array"}, {"type": "null"}],
                "default": None,
            },
            "content": TEXT,
            "file_text": TEXT,
            "old_str": TEXT,
            "new_str": TEXT,
            "insert_line": NUMBER,
            "insert_text": TEXT,
            "old_path": TEXT,
            "new_path": TEXT,
        },
    },
    "list_skills": {"type": "object", "additionalProperties": False, "properties": {}},
    "load_skill": {
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "properties": {"name": {"type": "string"}},
    },
    "recall_turn": {
        "type": "object",
        "additionalProperties": False,
        "required": ["turn", "conversation"],
        "properties": {
            "turn": {"type": "integer"},
            "conversation": {"type": "string"},
            "call": TEXT,
        },
    },
    "search_history": {
        "type": "object",
        "additionalProperties": False,
        "required": ["query"],
        "properties": {
            "query": {"type": "string"},
            "conversation": TEXT,
            "limit": {"default": 10, "type": "integer"},
        },
    },
    "continue_session": {
        "type": "object",
        "additionalProperties": False,
        "properties": {"conversation": TEXT, "session": TEXT},
    },
    "handoff": {
        "type": "object",
        "additionalProperties": False,
        "required": ["note"],
        "properties": {"note": {"type": "string"}},
    },
}
# readOnly, destructive, idempotent, openWorld
ANNOTATIONS = {
    "memory": (False, True, False, False),
    "list_skills": (True, False, True, False),
    "load_skill": (True, False, True, False),
    "recall_turn": (True, False, True, False),
    "search_history": (True, False, True, False),
    "continue_session": (False, False, False, False),
    "handoff": (False, True, False, False),
}
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
RECORDS = {
    "memory": MemoryArguments,
    "list_skills": NoArguments,
    "load_skill": SkillArguments,
    "recall_turn": RecallArguments,
    "search_history": SearchArguments,
    "continue_session": ContinueArguments,
    "handoff": HandoffArguments,
}


async def listed(gateway: RunningGateway, **more: Any) -> list[dict[str, Any]]:
    result = (await gateway.request("tools/list", **more))["result"]
    assert "nextCursor" not in result
    tools: list[dict[str, Any]] = result["tools"]
    return tools


async def test_the_tools_come_in_order_with_their_schemas(gateway: RunningGateway) -> None:
    tools = await listed(gateway)
    assert [tool["name"] for tool in tools] == list(SCHEMAS)
    for tool in tools:
        schema = deepcopy(tool["inputSchema"])
        for shown in schema["properties"].values():
            assert shown.pop("description")
        assert schema == SCHEMAS[tool["name"]]
        assert list(schema["properties"]) == list(SCHEMAS[tool["name"]]["properties"])
        assert tuple(tool["annotations"][hint] for hint in HINTS) == ANNOTATIONS[tool["name"]]
        assert tool.keys() == {"name", "description", "inputSchema", "annotations"}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_description_fits_every_provider(tool: Any) -> None:
    assert 0 < len(tool.shown["description"]) <= 1024


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_no_argument_is_mirrored_in_a_header(tool: Any) -> None:
    """The surface tells the SDK so, which would look for one in each call."""
    assert "x-mcp-header" not in json.dumps(tool.shown["inputSchema"])


@pytest.mark.parametrize("name", RECORDS)
def test_what_is_checked_is_what_is_shown(name: str) -> None:
    fields = set(get_type_hints(RECORDS[name])) - {"__pydantic_config__"}
    assert fields == set(SCHEMAS[name]["properties"])


async def test_the_memorys_description_says_what_it_must(gateway: RunningGateway) -> None:
    shown = {tool["name"]: tool["description"] for tool in await listed(gateway)}
    for command in COMMANDS:
        assert command in shown["memory"]
    assert "index first" in shown["memory"]
    assert "/{mount}/{document}" in shown["memory"]
    assert "/{mount}/skills/{name}" in shown["load_skill"]
    assert "call=<id>" in shown["recall_turn"]
    assert "[link <id>:N]" in shown["recall_turn"]
    assert "at most 50" in shown["search_history"]
    assert "only when the user asks" in shown["continue_session"]
    assert "2048" in shown["handoff"]


async def test_without_conversations_there_are_three_tools() -> None:
    async with running_gateway(PlainStore()) as gateway:
        names = [tool["name"] for tool in await listed(gateway)]
        assert names == ["memory", "list_skills", "load_skill"]
        answer = await gateway.call("recall_turn", turn=1, conversation="c")
        assert answer.text == "Tool 'recall_turn' not found"


async def test_without_a_mount_for_sessions_there_are_no_notes() -> None:
    reach = reach_of("scope=kb:a,path=kb,ro", "scope=task:1,path=board,eo")
    reaches = {"client:ana": reach, "client:bob": reach_of()}
    async with running_gateway(InMemoryStore(), reaches=reaches) as gateway:
        names = [tool["name"] for tool in await listed(gateway)]
        assert names == list(SCHEMAS)[:5]
        assert len(await listed(gateway, token="b0b")) == 7
        calls: tuple[tuple[str, dict[str, Any]], ...] = (
            ("handoff", {"note": "x"}),
            ("continue_session", {}),
        )
        for tool, arguments in calls:
            answer = await gateway.call(tool, **arguments)
            assert answer.text == f"Tool {tool!r} not found"
