"""The tools, in the order of `tools/list`: what each shows, takes, needs and does.

docs/reference/mcp.md, section 6.
"""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Any, TypeAlias

import msgspec

from commonhold.contract import IdempotencyKey
from commonhold.usecases.dispatcher import dispatch
from commonhold.usecases.envelopes import ToolResult
from commonhold.usecases.history.contexts import HistoryContext
from commonhold.usecases.history.continuations import continue_session
from commonhold.usecases.history.handoffs import handoff
from commonhold.usecases.history.recalls import recall_turn
from commonhold.usecases.history.searches import search_history
from commonhold.usecases.keyed_commands import dispatch_once, run_once
from commonhold.usecases.skills import list_skills, load_skill
from commonhold_gateway.callers import Caller
from commonhold_gateway.tools import schemas
from commonhold_gateway.tools.arguments import (
    Check,
    ContinueArguments,
    HandoffArguments,
    MemoryArguments,
    NoArguments,
    RecallArguments,
    SearchArguments,
    SkillArguments,
    checker,
)

Arguments: TypeAlias = Mapping[str, Any]
Key: TypeAlias = IdempotencyKey | None


class Need(Enum):
    """What has to be there for a tool to be listed."""

    NOTHING = "nothing"
    HISTORY = "conversations"
    SESSIONS = "conversations, and a mount that holds sessions"

    def is_met(self, caller: Caller) -> bool:
        if self is Need.SESSIONS:
            return caller.has_sessions
        return self is Need.NOTHING or caller.has_history


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    shown: schemas.Json
    check: Check
    # The key makes a change happen once; what only reads has no use for it.
    run: Callable[[Caller, Arguments, Key], Awaitable[ToolResult]]
    need: Need = Need.NOTHING


async def _memory(caller: Caller, arguments: Arguments, key: Key) -> ToolResult:
    context, command = caller.memory(), arguments["command"]
    if key is None:
        return await dispatch(context, command, arguments)
    return await dispatch_once(context, command, arguments, key=key)


async def _list_skills(caller: Caller, _arguments: Arguments, _key: Key) -> ToolResult:
    return await list_skills(caller.stores.documents, caller.reach.mounts)


async def _load_skill(caller: Caller, arguments: Arguments, _key: Key) -> ToolResult:
    return await load_skill(caller.stores.documents, caller.reach.mounts, arguments["name"])


async def _recall_turn(caller: Caller, arguments: Arguments, _key: Key) -> ToolResult:
    return await recall_turn(caller.required_history(), **arguments)


async def _search_history(caller: Caller, arguments: Arguments, _key: Key) -> ToolResult:
    return await search_history(caller.required_history(), **arguments)


async def _continue_session(caller: Caller, arguments: Arguments, key: Key) -> ToolResult:
    async def run(context: HistoryContext) -> ToolResult:
        return await continue_session(context, **arguments)

    return await _at_most_once(caller, "continue_session", arguments, key=key, run=run)


async def _handoff(caller: Caller, arguments: Arguments, key: Key) -> ToolResult:
    async def run(context: HistoryContext) -> ToolResult:
        return await handoff(context, **arguments)

    return await _at_most_once(caller, "handoff", arguments, key=key, run=run)


async def _at_most_once(
    caller: Caller,
    tool: str,
    arguments: Arguments,
    *,
    key: Key,
    run: Callable[[HistoryContext], Awaitable[ToolResult]],
) -> ToolResult:
    context = caller.required_history()
    if key is None:
        return await run(context)
    return await run_once(context, tool, arguments, key=key, run=run)


TOOLS: tuple[Tool, ...] = (
    Tool(name="memory", shown=schemas.MEMORY, check=checker(MemoryArguments), run=_memory),
    Tool(
        name="list_skills", shown=schemas.LIST_SKILLS, check=checker(NoArguments), run=_list_skills
    ),
    Tool(
        name="load_skill", shown=schemas.LOAD_SKILL, check=checker(SkillArguments), run=_load_skill
    ),
    Tool(
        name="recall_turn",
        shown=schemas.RECALL_TURN,
        check=checker(RecallArguments),
        run=_recall_turn,
        need=Need.HISTORY,
    ),
    Tool(
        name="search_history",
        shown=schemas.SEARCH_HISTORY,
        check=checker(SearchArguments),
        run=_search_history,
        need=Need.HISTORY,
    ),
    Tool(
        name="continue_session",
        shown=schemas.CONTINUE_SESSION,
        check=checker(ContinueArguments),
        run=_continue_session,
        need=Need.SESSIONS,
    ),
    Tool(
        name="handoff",
        shown=schemas.HANDOFF,
        check=checker(HandoffArguments),
        run=_handoff,
        need=Need.SESSIONS,
    ),
)
_BY_NAME = {tool.name: tool for tool in TOOLS}


def tools_of(caller: Caller) -> list[Tool]:
    """The tools that a caller has, by what is kept and what is mounted for it."""
    return [tool for tool in TOOLS if tool.need.is_met(caller)]


def find_tool(caller: Caller, name: str) -> Tool | None:
    """A tool that the caller has."""
    tool = _BY_NAME.get(name)
    return tool if tool is not None and tool.need.is_met(caller) else None
