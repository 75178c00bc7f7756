"""Running one tool call: its arguments checked, its time bounded, its outcome counted.

docs/reference/mcp.md, section 7.
"""

import asyncio
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import structlog

from commonhold.ops.metrics import ToolMetrics
from commonhold.usecases.envelopes import ToolResult, fail
from commonhold.usecases.failures import EXECUTION_FAILED
from commonhold_gateway.identities import Identity, Reach
from commonhold_gateway.tools.arguments import InvalidArgumentsError
from commonhold_gateway.tools.table import Invocation, Tool, ToolStore, find_tool

OK = "ok"
REFUSED = "refused"
INVALID = "invalid"
BUSY = "busy"
TIMED_OUT = "timed_out"
FAILED = "failed"
OUTCOMES = (OK, REFUSED, INVALID, BUSY, TIMED_OUT, FAILED)
# The label of calls to what is no tool.
UNKNOWN = "unknown"

logger = structlog.get_logger(__name__)


class ToolCalls:
    """Runs the calls of every client, each within its bounds."""

    def __init__(
        self,
        store: ToolStore,
        *,
        metrics: ToolMetrics,
        call_seconds: float,
        calls_per_client: int,
    ) -> None:
        self._store = store
        self._metrics = metrics
        self._call_seconds = call_seconds
        self._calls_per_client = calls_per_client
        # Only clients with a call in flight have an entry, so that it stays small.
        self._running: dict[str, int] = {}

    async def run(
        self, identity: Identity, reach: Reach, name: str, arguments: Mapping[str, Any]
    ) -> ToolResult:
        """Answer whatever happens; only cancellation passes through."""
        started = perf_counter()
        tool = find_tool(reach, name)
        if tool is None:
            self._metrics.called(UNKNOWN, INVALID, started=started)
            return fail(f"Tool {name!r} not found")
        try:
            call = Invocation(self._store, identity, reach, tool.check(arguments))
        except InvalidArgumentsError as error:
            self._metrics.called(name, INVALID, started=started)
            return fail(f"Invalid arguments for tool {name!r}: {error}")
        result, outcome = await self._admit(tool, call)
        self._metrics.called(name, outcome, started=started)
        return result

    async def _admit(self, tool: Tool, call: Invocation) -> tuple[ToolResult, str]:
        client = call.identity.client
        running = self._running.get(client, 0)
        if running >= self._calls_per_client:
            logger.warning("tool_busy", tool=tool.name, running=running)
            return _busy(tool.name, running), BUSY
        self._running[client] = running + 1
        try:
            return await self._run(tool, call)
        finally:
            if self._running[client] == 1:
                del self._running[client]
            else:
                self._running[client] -= 1

    async def _run(self, tool: Tool, call: Invocation) -> tuple[ToolResult, str]:
        try:
            async with asyncio.timeout(self._call_seconds):
                result = await tool.run(call)
        except TimeoutError:
            logger.warning("tool_timed_out", tool=tool.name, seconds=self._call_seconds)
            return fail(f"Tool {tool.name!r} failed: timed out"), TIMED_OUT
        except Exception:
            logger.exception("tool_failed", tool=tool.name)
            return fail(f"Tool {tool.name!r} failed: internal error"), FAILED
        return result, _outcome_of(result)


def _outcome_of(result: ToolResult) -> str:
    if result.success:
        return OK
    return FAILED if result.code == EXECUTION_FAILED else REFUSED


def _busy(name: str, running: int) -> ToolResult:
    return fail(
        f"Tool {name!r} failed: too many calls at once",
        hint=f"{running} calls of this client are running: wait for one, then repeat this.",
    )
