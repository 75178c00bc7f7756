"""The tools, in the order of `tools/list`: what each shows, takes and does."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from commonhold.contract import ConversationStore, MemoryStore
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.dispatcher import dispatch
from commonhold.usecases.envelopes import ToolResult
from commonhold.usecases.skills import list_skills, load_skill
from commonhold_gateway.identities import Identity, Reach
from commonhold_gateway.tools import schemas
from commonhold_gateway.tools.arguments import (
    Check,
    MemoryArguments,
    NoArguments,
    SkillArguments,
    checker,
)


class ToolStore(MemoryStore, ConversationStore, Protocol):
    """Both seams in one object; the optional protocols are found out."""


class Invocation(msgspec.Struct, frozen=True):
    """One call past its checks: over which store, by whom, with which arguments."""

    store: ToolStore
    identity: Identity
    reach: Reach
    arguments: Mapping[str, Any]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    shown: schemas.Json
    check: Check
    run: Callable[[Invocation], Awaitable[ToolResult]]


async def _memory(call: Invocation) -> ToolResult:
    context = MemoryContext(
        documents=call.store, mounts=call.reach.mounts, actor=call.identity.actor
    )
    return await dispatch(context, call.arguments["command"], call.arguments)


async def _list_skills(call: Invocation) -> ToolResult:
    return await list_skills(call.store, call.reach.mounts)


async def _load_skill(call: Invocation) -> ToolResult:
    return await load_skill(call.store, call.reach.mounts, call.arguments["name"])


TOOLS: tuple[Tool, ...] = (
    Tool(name="memory", shown=schemas.MEMORY, check=checker(MemoryArguments), run=_memory),
    Tool(
        name="list_skills", shown=schemas.LIST_SKILLS, check=checker(NoArguments), run=_list_skills
    ),
    Tool(
        name="load_skill", shown=schemas.LOAD_SKILL, check=checker(SkillArguments), run=_load_skill
    ),
)
_BY_NAME = {tool.name: tool for tool in TOOLS}


def tools_of(reach: Reach) -> tuple[Tool, ...]:  # noqa: ARG001 - sessions tools depend on the mounts
    """The tools that a caller has, by what is mounted for it."""
    return TOOLS


def find_tool(reach: Reach, name: str) -> Tool | None:  # noqa: ARG001 - as above
    """A tool that the caller has."""
    return _BY_NAME.get(name)
