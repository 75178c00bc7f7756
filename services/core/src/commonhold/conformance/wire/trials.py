"""One case's view of the service: its own names, and answers that are checked as they come."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn, TypeAlias

from commonhold.conformance.rules import Rule
from commonhold.conformance.wire.services import OK, Answer, Capabilities, WireService

Row: TypeAlias = dict[str, Any]

# What the routes of a capability answer without it (docs/reference/wire.md, section 9).
NOT_SUPPORTED = "agent_configuration_error"
_JSON = "application/json"
_ENVELOPE = ["code", "message", "details"]


class NotSupportedError(Exception):
    """The service lacks what the case is about, and says so as it should."""


class Trial:
    """One case's view of the service: names that nobody else uses, and what was made of them."""

    def __init__(self, service: WireService, *, name: str) -> None:
        self.service = service
        self._name = name
        self.scopes: list[str] = []
        self.threads: list[str] = []
        self.scope = self.another_scope()
        self.thread = self.another_thread()

    @property
    def capabilities(self) -> Capabilities:
        return self.service.capabilities

    def another_scope(self) -> str:
        self.scopes.append(f"kit:{self._name}-{len(self.scopes) + 1}")
        return self.scopes[-1]

    def another_thread(self) -> str:
        self.threads.append(f"kit-{self._name}-{len(self.threads) + 1}")
        return self.threads[-1]

    def word(self, text: str) -> str:
        """A text that occurs in this case alone."""
        return f"{text}{self._name.replace('-', '')}"

    def recorded(self, actor: str | None) -> str:
        """What the service records when a body says `actor`."""
        client = self.capabilities.client
        return client if actor is None else f"{client}/{actor}"

    async def write(self, path: str, content: str, **options: Any) -> Row:
        """Write to the case's own scope; the document."""
        answer = await self.ok(
            "memory/write", scope=self.scope, path=path, content=content, **options
        )
        document: Row = answer["document"]
        return document

    async def read(self, path: str) -> Any:
        """The document of the case's own scope, or None."""
        return (await self.ok("memory/read", scope=self.scope, path=path))["document"]

    async def versions(self, path: str, **options: Any) -> list[Row]:
        answer = await self.ok("memory/versions", scope=self.scope, path=path, **options)
        rows: list[Row] = answer["versions"]
        return rows

    async def history(self, **options: Any) -> list[Row]:
        rows: list[Row] = (await self.ok("memory/history", scope=self.scope, **options))["versions"]
        return rows

    async def append(self, *texts: str, thread: str | None = None, **options: Any) -> list[Row]:
        """Append a turn a text to the case's own conversation; the turns."""
        turns = []
        for text in texts:
            answer = await self.ok(
                "conversation/append_turn",
                conversation_id=thread or self.thread,
                messages=[{"role": "user", "content": text}],
                **options,
            )
            turns.append(answer["turn"])
        return turns

    async def turns(self, **options: Any) -> list[Row]:
        answer = await self.ok("conversation/read_turns", conversation_id=self.thread, **options)
        rows: list[Row] = answer["turns"]
        return rows

    async def post(
        self,
        route: str,
        body: bytes | Mapping[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.service.ask("POST", f"/v1/{route}", sent, headers=headers)

    async def ok(self, route: str, **parameters: Any) -> dict[str, Any]:
        """The object of a success."""
        answer = await self.post(route, parameters)
        return checked_success(route, answer)

    async def lacks(self, what: str, route: str, **parameters: Any) -> NoReturn:
        """End the case where a service has no such thing, and answers as it then should."""
        answer = await self.post(route, parameters)
        check_refusal(route, answer, code=NOT_SUPPORTED, message=None, details=None)
        raise NotSupportedError(f"the service {what}")

    async def refused(
        self,
        route: str,
        body: bytes | Mapping[str, Any],
        *,
        code: str,
        message: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """The body must be refused so, with all of the details and no others."""
        check_refusal(
            route, await self.post(route, body), code=code, message=message, details=details
        )


def moment(stamp: str) -> datetime:
    """Stamps to compare: with and without a fraction they have no order as text."""
    return datetime.fromisoformat(stamp)


def checked_success(route: str, answer: Answer) -> dict[str, Any]:
    rule = Rule("2", "a success is 200, application/json, one object", "wire.md")
    if answer.status != OK:
        rule.broken(f"{route} answered {answer.status}: {answer.body[:400]!r}")
    rule.equal((route, answer.header("content-type")), (route, _JSON))
    return _object(rule, route, answer)


def check_refusal(
    route: str,
    answer: Answer,
    *,
    code: str,
    message: str | None,
    details: Mapping[str, Any] | None,
    status: int = 400,
) -> None:
    rule = Rule(
        "1", "a refusal is its status and one envelope: code, message, details", "errors.md"
    )
    if answer.status != status:
        rule.broken(f"expected: {status} {code}\nseen:     {answer.status} {answer.body[:400]!r}")
    rule.equal((route, answer.header("content-type")), (route, _JSON))
    envelope = _object(rule, route, answer)
    rule.equal((list(envelope), list(envelope.get("error", ()))), (["error"], _ENVELOPE))
    error = envelope["error"]
    rule.equal((route, error["code"]), (route, code))
    if message is not None:
        rule.equal((route, error["message"]), (route, message))
    rule.equal((route, error["details"]), (route, dict(details or {})))


def _object(rule: Rule, route: str, answer: Answer) -> dict[str, Any]:
    try:
        value = answer.decoded()
    except (ValueError, RecursionError):
        rule.broken(f"{route} answered what is not JSON: {answer.body[:400]!r}")
    if not isinstance(value, dict):
        rule.broken(f"{route} answered no object: {answer.body[:400]!r}")
    return value
