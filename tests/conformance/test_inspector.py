"""The inspector's command line as a client that somebody else wrote, in both eras."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from commonhold.adapters.postgres import PostgresStore
from tests.support.gateway_service import TOKEN, RunningGateway, running_gateway
from tests.support.node import run_node

PROGRAM = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_it_lists_calls_and_reads_prompts(
    packages: Path, store: PostgresStore, era: str
) -> None:
    async with running_gateway(store) as gateway:
        listed = await _inspect(packages, gateway, era, "--method", "tools/list", "--strict")
        assert {"memory", "list_skills", "load_skill"} <= {tool["name"] for tool in listed["tools"]}
        for command in ({"command": "create", "content": "on"}, {"command": "view"}):
            answer = await _call(packages, gateway, era, {**command, "path": "/user/kettle"})
        assert answer["content"] == [{"type": "text", "text": "/user/kettle (v1):\n1: on"}]
        prompts = await _inspect(packages, gateway, era, "--method", "prompts/list")
        assert [prompt["name"] for prompt in prompts["prompts"]] == ["handoff"]


async def _call(
    packages: Path, gateway: RunningGateway, era: str, arguments: dict[str, str]
) -> dict[str, Any]:
    call = ("--method", "tools/call", "--tool-name", "memory")
    return await _inspect(packages, gateway, era, *call, "--tool-args-json", json.dumps(arguments))


async def _inspect(
    packages: Path, gateway: RunningGateway, era: str, *arguments: str
) -> dict[str, Any]:
    header = f"Authorization: Bearer {TOKEN}"
    target = (gateway.url, "--transport", "http", "--protocol-era", era, "--header", header)
    done = await asyncio.to_thread(run_node, packages / PROGRAM, "--cli", *target, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
