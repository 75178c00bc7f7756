"""A client of the gateway that edits line by line, so that an edit lost or made twice shows."""

import asyncio
from collections import Counter
from collections.abc import Iterator

from commonhold.contract.documents import ScopeArchive
from tests.support.gateway_service import called, reply_of
from tests.support.histories.records import Answered, Outcome, Refused, Unknown, Violation
from tests.support.mcp_clients import STATELESS
from tests.support.mcp_messages import memory_call
from tests.support.raw_http import RawConnection

TOOL_FAILED = "Tool 'memory' failed"


class ToolClient:
    """One client; with `keeps` its connection stays open, and so at one replica, while it can."""

    def __init__(
        self, host: str, port: int, *, token: str, patience: float, keeps: bool = True
    ) -> None:
        self.token = token
        self._host = host
        self._port = port
        self._patience_seconds = patience
        self._keeps = keeps
        self._connection: RawConnection | None = None

    async def call(self, arguments: dict[str, str | int], *, key: str) -> Outcome:
        """Make one attempt."""
        request = memory_call(arguments, era=STATELESS, key=key, token=self.token)
        try:
            async with asyncio.timeout(self._patience_seconds):
                if self._connection is None:
                    self._connection = await RawConnection.open(self._host, self._port)
                answer = await self._connection.ask(request)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as failure:
            await self.close()
            return Unknown(why=type(failure).__name__)
        if not self._keeps or answer.header("connection") == "close":
            await self.close()
        if answer.status != 200:
            return Unknown(why=f"status {answer.status}")
        told = called(reply_of(answer)["result"])
        if told.failed and told.text.startswith(TOOL_FAILED):
            return Unknown(why="the tool failed")
        return Refused(code=told.text) if told.failed else Answered(answer={"text": told.text})

    async def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()


class LineLedger:
    """The lines that a client asked for in each document, and whether it was told they are in."""

    def __init__(self) -> None:
        self._asked: dict[str, dict[str, Outcome]] = {}

    def note(self, path: str, line: str, *, outcome: Outcome) -> None:
        self._asked.setdefault(path, {})[line] = outcome

    def violations(self, scope: ScopeArchive) -> Iterator[Violation]:
        contents = {document.path: document.content for document in scope.documents}
        versions = Counter(row.path for row in scope.versions)
        for path, asked in self._asked.items():
            lines = Counter(contents.get(path, "").splitlines())
            for line, outcome in asked.items():
                if lines[line] > 1:
                    yield Violation("applied_twice", path, line)
                elif isinstance(outcome, Refused):
                    yield Violation("refused", path, f"{line}: {outcome.code}")
                elif isinstance(outcome, Answered) and not lines[line]:
                    yield Violation("acknowledged_missing", path, line)
            if strangers := lines.keys() - asked.keys():
                yield Violation("row_of_nobody", path, f"{sorted(strangers)}")
            if versions[path] != lines.total():
                yield Violation("applied_twice", path, f"{versions[path]} versions: {lines}")
