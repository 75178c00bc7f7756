"""What `tools/list` shows (docs/reference/mcp.md, section 6)."""

from copy import deepcopy
from typing import Any, get_type_hints

import pytest

from commonhold_gateway.tools.arguments import MemoryArguments, NoArguments, SkillArguments
from commonhold_gateway.tools.table import TOOLS
from tests.support.gateway_service import RunningGateway

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
}
# readOnly, destructive, idempotent, openWorld
ANNOTATIONS = {
    "memory": (False, True, False, False),
    "list_skills": (True, False, True, False),
    "load_skill": (True, False, True, False),
}
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
RECORDS = {"memory": MemoryArguments, "list_skills": NoArguments, "load_skill": SkillArguments}


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
