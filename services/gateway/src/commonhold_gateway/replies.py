"""The answers that need no MCP, ready to be sent."""

from collections.abc import Mapping

from starlette.types import Send

from commonhold.wire.shapes import encode_refusal
from commonhold_gateway.settings import BODY_LIMIT_BYTES


class Reply:
    """Status, headers and body of a short answer."""

    __slots__ = ("body", "closes", "headers", "status")

    def __init__(
        self,
        status: int,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        closes: bool = False,
    ) -> None:
        self.status = status
        self.body = body
        self.closes = closes
        ending = {"connection": "close"} if closes else {}
        lines = {"content-length": str(len(body)), **ending, **(headers or {})}
        self.headers = [(name.encode(), value.encode("latin-1")) for name, value in lines.items()]

    async def send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


def plain(
    status: int, text: str, *, headers: Mapping[str, str] | None = None, closes: bool = False
) -> Reply:
    kind = {"content-type": "text/plain; charset=utf-8"}
    return Reply(status, text.encode(), headers={**kind, **(headers or {})}, closes=closes)


def refused(
    status: int, code: str, message: str, *, closes: bool = False, challenge: str | None = None
) -> Reply:
    """The envelope of docs/reference/errors.md, section 1."""
    headers = {"content-type": "application/json"}
    if challenge is not None:
        headers["www-authenticate"] = challenge
    return Reply(status, encode_refusal(code, message), headers=headers, closes=closes)


def unauthorized(challenge: str) -> Reply:
    return Reply(401, b"unauthorized", headers={"www-authenticate": challenge})


def too_large(limit_bytes: int = BODY_LIMIT_BYTES) -> Reply:
    message = f"request body exceeds {limit_bytes} bytes"
    return refused(413, "value_error", message, closes=True)


def forbidden(target: str, *, challenge: str | None = None) -> Reply:
    message = f"this token's allowance does not reach {target}"
    return refused(403, "forbidden", message, challenge=challenge)


def too_many_values(limit: int) -> Reply:
    return refused(400, "value_error", f"request body holds more than {limit} values")


HEALTHY = Reply(200, b'{"status":"ok"}', headers={"content-type": "application/json"})
NOT_FOUND = plain(404, "Not Found")
GET_ONLY = plain(405, "Method Not Allowed", headers={"allow": "HEAD, GET"})
POST_ONLY = plain(405, "Method Not Allowed", headers={"allow": "POST"})
REQUEST_TIMEOUT = plain(408, "Request Timeout", closes=True)
SERVER_ERROR = plain(500, "Internal Server Error")
UNAVAILABLE = plain(503, "Service Unavailable", headers={"retry-after": "1"})
MOVED = Reply(307, b"", headers={"location": "/mcp"})
NO_MOUNTS = forbidden("/mcp \N{EM DASH} nothing is mounted for it here")
CONSTRAINED = forbidden(
    "/mcp \N{EM DASH} the surface serves the operator's mounts, which no prefix can fence"
)
