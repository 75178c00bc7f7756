"""The gates, as bytes on a socket (docs/reference/mcp.md, sections 1 to 3)."""

import json

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold_gateway import bodies
from commonhold_gateway.app import Limits
from commonhold_gateway.hosts import AllowedNames
from tests.support.gateway_service import (
    MCP_HEADERS,
    TOKEN,
    RunningGateway,
    reach_of,
    running_gateway,
)
from tests.support.raw_http import chunked, request_bytes

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
METHODS = ("POST", "GET", "DELETE", "PUT", "OPTIONS")
BEARER = {"authorization": f"Bearer {TOKEN}"}


def refused(code: str, message: str) -> bytes:
    envelope = {"error": {"code": code, "message": message, "details": {}}}
    return json.dumps(envelope, separators=(",", ":"), ensure_ascii=False).encode()


class TestCredential:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/elsewhere", "/"])
    @pytest.mark.parametrize("token", [None, "wrong", f"{TOKEN}x", ""])
    async def test_without_a_known_token_everything_is_401(
        self, gateway: RunningGateway, method: str, path: str, token: str | None
    ) -> None:
        answer = await gateway.ask(method, path, token=token)
        assert (answer.status, answer.body) == (401, b"unauthorized")
        assert answer.header("www-authenticate") == "Bearer"
        assert answer.header("content-type") is None

    async def test_a_scheme_has_no_case(self, gateway: RunningGateway) -> None:
        for scheme in ("bearer", "BEARER", "Bearer"):
            headers = {"authorization": f"{scheme} {TOKEN}"}
            assert (await gateway.post(PING, token=None, headers=headers)).status == 200
        for header in (TOKEN, f"Basic {TOKEN}", f"Bearer  {TOKEN}", f"Bearer{TOKEN}"):
            headers = {"authorization": header}
            assert (await gateway.post(PING, token=None, headers=headers)).status == 401

    async def test_health_asks_for_no_token_and_no_host(self, gateway: RunningGateway) -> None:
        answer = await gateway.ask("GET", "/health", token=None, headers={"host": "10.1.2.3"})
        assert (answer.status, json.loads(answer.text)) == (200, {"status": "ok"})
        assert (await gateway.ask("POST", "/health", token=None)).status == 405


class TestReach:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize(
        ("token", "why"),
        [
            ("two", "the surface serves the operator's mounts, which no prefix can fence"),
            ("three", "nothing is mounted for it here"),
        ],
    )
    async def test_a_client_without_a_reach_is_403_on_every_method(
        self, method: str, token: str, why: str
    ) -> None:
        tokens = "client:ana=one,client:held@user:ana=two,client:free=three"
        reaches = {"client:ana": reach_of()}
        async with running_gateway(InMemoryStore(), tokens=tokens, reaches=reaches) as gateway:
            answer = await gateway.ask(method, "/mcp", token=token)
            assert answer.status == 403
            assert json.loads(answer.text)["error"] == {
                "code": "forbidden",
                "message": f"this token's allowance does not reach /mcp — {why}",
                "details": {},
            }
            assert answer.header("content-type") == "application/json"

    async def test_without_mounts_for_anybody_the_path_is_404(self) -> None:
        async with running_gateway(InMemoryStore(), mounts_anything=False, reaches={}) as gateway:
            assert (await gateway.post(PING)).status == 404
            assert (await gateway.post(PING, token="wrong")).status == 401

    @pytest.mark.parametrize(
        "host",
        [
            "evil.example",
            "localhost.evil.example",
            "localhost:evil.example",
            "127.0.0.1.evil.example",
            "",
            "host:x",
        ],
    )
    async def test_a_host_that_is_not_listed_is_403(
        self, gateway: RunningGateway, host: str
    ) -> None:
        answer = await gateway.post(PING, headers={"host": host})
        assert answer.status == 403
        assert json.loads(answer.text)["error"]["code"] == "forbidden"

    @pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:6368", "[::1]:9"])
    async def test_loopback_names_pass_at_every_port(
        self, gateway: RunningGateway, host: str
    ) -> None:
        assert (await gateway.post(PING, headers={"host": host})).status == 200

    @pytest.mark.parametrize(
        ("origin", "status"),
        [
            ("http://localhost:3000", 200),
            ("https://127.0.0.1", 200),
            ("http://evil.example", 403),
            ("http://localhost.evil.example", 403),
            ("http://localhost:evil.example", 403),
            ("null", 403),
            ("ftp://localhost", 403),
        ],
    )
    async def test_an_origin_passes_when_it_is_listed(
        self, gateway: RunningGateway, origin: str, status: int
    ) -> None:
        assert (await gateway.post(PING, headers={"origin": origin})).status == status

    async def test_names_of_a_deployment_take_the_place_of_loopback(self) -> None:
        allowed = AllowedNames(hosts=("mcp.example", "h:1"), origins=("https://app.example",))
        async with running_gateway(InMemoryStore(), allowed=allowed) as gateway:
            for host, origin, status in (
                ("mcp.example:8443", "https://app.example", 200),
                ("h:1", None, 200),
                ("h:2", None, 403),
                ("localhost", None, 403),
                ("mcp.example", "http://app.example", 403),
            ):
                headers = {"host": host} | ({} if origin is None else {"origin": origin})
                assert (await gateway.post(PING, headers=headers)).status == status, host


class TestMethods:
    async def test_the_path_with_a_slash_redirects(self, gateway: RunningGateway) -> None:
        answer = await gateway.ask("POST", "/mcp/")
        assert (answer.status, answer.header("location")) == (307, "/mcp")

    @pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
    async def test_stateless_takes_nothing_but_post(
        self, gateway: RunningGateway, method: str
    ) -> None:
        answer = await gateway.ask(method, "/mcp", headers={"accept": "text/event-stream"})
        assert (answer.status, answer.header("allow")) == (405, "POST")

    async def test_another_path_is_404(self, gateway: RunningGateway) -> None:
        for path in ("/", "/mcp/x", "/mcpx", "/v1/memory/read"):
            assert (await gateway.ask("POST", path)).status == 404


class TestBody:
    LIMIT = 4096
    TOO_LARGE = refused("value_error", f"request body exceeds {LIMIT} bytes")

    async def test_a_declared_size_over_the_limit_is_413_before_the_body(self) -> None:
        limits = Limits(body_limit_bytes=self.LIMIT)
        async with running_gateway(InMemoryStore(), limits=limits) as gateway:
            request = request_bytes(
                "POST",
                "/mcp",
                headers={"host": "localhost", **BEARER, **MCP_HEADERS},
                length=self.LIMIT + 1,
            )
            async with await gateway.connect() as connection:
                answer = await connection.ask(request)
            assert (answer.status, answer.body) == (413, self.TOO_LARGE)
            assert answer.header("connection") == "close"

    async def test_a_chunked_body_is_cut_when_the_count_passes_the_limit(self) -> None:
        limits = Limits(body_limit_bytes=self.LIMIT)
        headers = {"host": "localhost", **BEARER, **MCP_HEADERS, "transfer-encoding": "chunked"}
        head = request_bytes("POST", "/mcp", headers=headers)
        async with running_gateway(InMemoryStore(), limits=limits) as gateway:
            async with await gateway.connect() as connection:
                await connection.send(head + b"1000\r\n" + b" " * 4096 + b"\r\n")
                # One byte more, and no end: the answer does not wait for it.
                await connection.send(b"1\r\n \r\n")
                answer = await connection.read_answer()
            assert (answer.status, answer.body) == (413, self.TOO_LARGE)
            async with await gateway.connect() as connection:
                body = json.dumps(PING).encode().ljust(self.LIMIT)
                assert (await connection.ask(head + chunked(body, size=1000))).status == 200

    async def test_a_body_that_does_not_come_is_408(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Else its pace would end it too.
        monkeypatch.setattr(bodies, "PACE_GRACE_SECONDS", 3600.0)
        limits = Limits(body_timeout_seconds=0.05)
        async with running_gateway(InMemoryStore(), limits=limits) as gateway:
            request = request_bytes(
                "POST", "/mcp", headers={"host": "localhost", **BEARER, **MCP_HEADERS}, length=50
            )
            async with await gateway.connect() as connection:
                answer = await connection.ask(request + b'{"json')
            assert answer.status == 408
            rejected = 'commonhold_rejected_total{reason="body_timeout",service="gateway"} 1.0'
            await gateway.until_measured(rejected)

    async def test_a_credential_comes_before_size(self) -> None:
        limits = Limits(body_limit_bytes=self.LIMIT)
        async with running_gateway(InMemoryStore(), limits=limits) as gateway:
            body = b" " * (self.LIMIT + 1)
            assert (await gateway.post(body, token="wrong")).status == 401
            assert (await gateway.post(body, headers={"host": "evil.example"})).status == 403

    async def test_not_ready_is_503(self, gateway: RunningGateway) -> None:
        gateway.health.become_unready("no schema")
        answer = await gateway.post(PING)
        assert (answer.status, answer.header("retry-after")) == (503, "1")
        assert (await gateway.ask("GET", "/health", token=None)).status == 200


async def test_requests_are_counted_by_route_and_status(gateway: RunningGateway) -> None:
    await gateway.post(PING)
    await gateway.post(PING, token="wrong")
    await gateway.ask("GET", "/nowhere")
    for labels in (
        'route="/mcp",service="gateway",status="200"',
        'route="/mcp",service="gateway",status="401"',
        'route="unknown",service="gateway",status="404"',
    ):
        await gateway.until_measured(f"commonhold_http_requests_total{{{labels}}} 1.0")
