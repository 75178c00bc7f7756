"""Running one tool call: its arguments checked, its time bounded, its outcome counted.

docs/reference/mcp.md, section 7.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import structlog

from commonhold.contract import IdempotencyKey
from commonhold.ops.metrics import ToolMetrics
from commonhold.usecases.envelopes import ToolResult, fail
from commonhold.usecases.failures import EXECUTION_FAILED
from commonhold_gateway.callers import Caller
from commonhold_gateway.tools.arguments import InvalidArgumentsError
from commonhold_gateway.tools.table import Tool, find_tool

OK = "ok"
REFUSED = "refused"
INVALID = "invalid"
BUSY = "busy"
TIMED_OUT = "timed_out"
FAILED = "failed"
OUTCOMES = (OK, REFUSED, INVALID, BUSY, TIMED_OUT, FAILED)
# Of `_meta`: makes a call that changes something safe to repeat.
IDEMPOTENCY_KEY = "commonhold/idempotency-key"

# The label of calls to what is no tool.
UNKNOWN = "unknown"

logger = structlog.get_logger(__name__)


class TooManyCallsError(Exception):
    """A client has as many calls in flight as it may have."""

    def __init__(self, running: int) -> None:
        super().__init__(f"{running} calls of this client are running")
        self.running = running


class Turnstile:
    """How much one client may have in flight at a time, and for how long."""

    def __init__(self, *, calls_per_client: int, call_seconds: float) -> None:
        self.call_seconds = call_seconds
        self._calls_per_client = calls_per_client
        # Only clients with a call in flight have an entry, so that it stays small.
        self._running: dict[str, int] = {}

    @contextmanager
    def pass_through(self, client: str) -> Iterator[None]:
        """Hold a place while the block runs; raises TooManyCallsError."""
        running = self._running.get(client, 0)
        if running >= self._calls_per_client:
            raise TooManyCallsError(running)
        self._running[client] = running + 1
        try:
            yield
        finally:
            if self._running[client] == 1:
                del self._running[client]
            else:
                self._running[client] -= 1


class ToolCalls:
    """Runs the calls of every client, each within its bounds."""

    def __init__(self, turnstile: Turnstile, *, metrics: ToolMetrics) -> None:
        self._turnstile = turnstile
        self._metrics = metrics

    async def run(
        self, caller: Caller, name: str, arguments: Mapping[str, Any], *, key: object = None
    ) -> ToolResult:
        """Answer whatever happens; only cancellation passes through.

        With a key, as it came, a change happens once (docs/reference/mcp.md, section 1).
        """
        started = perf_counter()
        tool = find_tool(caller, name)
        if tool is None:
            self._metrics.called(UNKNOWN, INVALID, started=started)
            return fail(f"Tool {name!r} not found")
        result, outcome = await self._check_and_run(tool, caller, arguments, key)
        self._metrics.called(name, outcome, started=started)
        return result

    async def _check_and_run(
        self, tool: Tool, caller: Caller, arguments: Mapping[str, Any], key: object
    ) -> tuple[ToolResult, str]:
        seconds = self._turnstile.call_seconds
        try:
            checked = tool.check(arguments)
            checked_key = None if key is None else _key_of(caller, key)
            with self._turnstile.pass_through(caller.identity.client):
                async with asyncio.timeout(seconds):
                    result = await tool.run(caller, checked, checked_key)
        except InvalidArgumentsError as error:
            return fail(f"Invalid arguments for tool {tool.name!r}: {error}"), INVALID
        except TooManyCallsError as error:
            logger.warning("tool_busy", tool=tool.name, running=error.running)
            return _busy(tool.name, error), BUSY
        except TimeoutError:
            logger.warning("tool_timed_out", tool=tool.name, seconds=seconds)
            return fail(f"Tool {tool.name!r} failed: timed out"), TIMED_OUT
        except Exception:
            logger.exception("tool_failed", tool=tool.name)
            return fail(f"Tool {tool.name!r} failed: internal error"), FAILED
        return result, _outcome_of(result)


def _key_of(caller: Caller, given: object) -> IdempotencyKey:
    """The client's own key; raises InvalidArgumentsError for what cannot be one."""
    try:
        return IdempotencyKey(caller.identity.client, given if isinstance(given, str) else "")
    except ValueError as error:
        raise InvalidArgumentsError(f"_meta.{IDEMPOTENCY_KEY}: {error}") from None


def _outcome_of(result: ToolResult) -> str:
    if result.success:
        return OK
    return FAILED if result.code == EXECUTION_FAILED else REFUSED


def _busy(name: str, error: TooManyCallsError) -> ToolResult:
    return fail(
        f"Tool {name!r} failed: too many calls at once",
        hint=f"{error}: wait for one, then repeat this.",
    )
