"""A caller of the memory commands whose every call goes over HTTP and MCP."""

from typing import Any, cast

from commonhold.contract import MemoryStore
from commonhold.usecases.envelopes import ToolResult, fail, succeed
from commonhold_gateway.identities import Reach
from tests.support.gateway_service import TOKEN, running_gateway
from tests.support.memory_callers import Caller


class ServedCaller(Caller):
    """Each call meets a gateway of its own, as if another replica answered each time."""

    async def call(self, command: str, **arguments: Any) -> ToolResult:
        reach = Reach(mounts=self.context.mounts)
        # What the commands use of it is all that is there.
        store = cast("MemoryStore", self.context.documents)
        async with running_gateway(
            store, tokens=f"client:ana={TOKEN}", reaches={"client:ana": reach}
        ) as gateway:
            answer = await gateway.call("memory", command=command, **arguments)
        if answer.failed:
            return fail(answer.text, hint=answer.hint)
        return succeed(answer.text, hint=answer.hint)
