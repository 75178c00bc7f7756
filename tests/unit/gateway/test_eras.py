"""Both eras of the protocol, through the same gates (docs/reference/mcp.md, section 4)."""

import json
from typing import Any

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from tests.support.gateway_service import RunningGateway, called, hello, reply_of

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol"
META = {
    f"{PREFIX}/protocolVersion": MODERN,
    f"{PREFIX}/clientCapabilities": {},
    f"{PREFIX}/clientInfo": {"name": "t", "version": "0"},
}


async def modern(
    gateway: RunningGateway, method: str, params: dict[str, Any] | None = None
) -> dict[str, Any]:
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
    if params and "name" in params:
        headers["mcp-name"] = params["name"]
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": {**(params or {}), "_meta": META},
    }
    answer = await gateway.post(message, headers=headers)
    assert answer.status == 200, answer
    result: dict[str, Any] = reply_of(answer)["result"]
    return result


class TestHandshake:
    @pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
    async def test_a_known_version_is_echoed(self, gateway: RunningGateway, version: str) -> None:
        result = await gateway.initialize(version)
        assert result["protocolVersion"] == version

    @pytest.mark.parametrize("version", ["2023-01-01", "2099-01-01", "latest", MODERN])
    async def test_any_other_is_answered_with_the_newest(
        self, gateway: RunningGateway, version: str
    ) -> None:
        assert (await gateway.initialize(version))["protocolVersion"] == "2025-11-25"

    async def test_the_result_says_who_serves_what(self, gateway: RunningGateway) -> None:
        result = await gateway.initialize()
        assert result["serverInfo"]["name"] == "commonhold"
        assert result["serverInfo"].keys() == {"name", "title", "version"}
        assert result["capabilities"] == {
            "tools": {"listChanged": False},
            "prompts": {"listChanged": False},
        }

    async def test_no_session_is_begun(self, gateway: RunningGateway) -> None:
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello()}
        answer = await gateway.post(message)
        assert answer.header("mcp-session-id") is None
        assert answer.header("content-type") == "text/event-stream"

    async def test_a_notification_is_taken(self, gateway: RunningGateway) -> None:
        answer = await gateway.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert (answer.status, answer.body) == (202, b"")

    @pytest.mark.parametrize("method", ["resources/list", "resources/read", "foo/bar"])
    async def test_what_is_not_served_is_not_found(
        self, gateway: RunningGateway, method: str
    ) -> None:
        params = {"uri": "x:y"} if method == "resources/read" else {}
        error = (await gateway.request(method, params))["error"]
        assert (error["code"], error["message"]) == (-32601, "Method not found")


class TestStateless:
    async def test_discovery_needs_no_handshake(self, gateway: RunningGateway) -> None:
        result = await modern(gateway, "server/discover")
        assert MODERN in result["supportedVersions"]
        assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
        assert result["_meta"][f"{PREFIX}/serverInfo"]["name"] == "commonhold"

    async def test_lists_may_not_be_kept(self, gateway: RunningGateway) -> None:
        for method in ("tools/list", "prompts/list"):
            result = await modern(gateway, method)
            assert (result["ttlMs"], result["cacheScope"]) == (0, "private")

    async def test_a_call_is_the_same_call(
        self, gateway: RunningGateway, store: InMemoryStore
    ) -> None:
        arguments = {"command": "create", "path": "/user/a", "content": "x"}
        params = {"name": "memory", "arguments": arguments}
        assert called(await modern(gateway, "tools/call", params)).text == "Created /user/a (v1)"
        document = await store.read("user:ana", "a")
        assert document is not None
        assert document.actor == "client:ana/mcp:gateway"

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("memory", {"command": "view", "path": "/user/\ud800"}),
            ("memory", {"command": "create", "path": "/user/a", "content": "\ud800"}),
            ("memory", {"command": "create", "path": "/user/a", "content": "a\x00b"}),
            ("load_skill", {"name": "\ud800"}),
            ("load_skill", {"name": "/user/skills/\x00"}),
        ],
    )
    async def test_text_that_cannot_be_stored_is_refused_in_band(
        self, gateway: RunningGateway, name: str, arguments: dict[str, Any]
    ) -> None:
        answer = called(await modern(gateway, "tools/call", {"name": name, "arguments": arguments}))
        assert answer.failed
        assert "internal error" not in answer.text

    async def test_a_header_that_differs_from_the_body_is_400(
        self, gateway: RunningGateway
    ) -> None:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
        headers = {"mcp-protocol-version": MODERN, "mcp-method": "prompts/list"}
        assert (await gateway.post(message, headers=headers)).status == 400


@pytest.mark.parametrize("version", ["2099-01-01", "x", "2025-11-26"])
async def test_an_unknown_version_in_the_header_is_400(
    gateway: RunningGateway, version: str
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert (await gateway.post(message, headers={"mcp-protocol-version": version})).status == 400


class TestTransport:
    @pytest.mark.parametrize(
        ("accept", "status"),
        [
            ("application/json, text/event-stream", 200),
            ("*/*", 200),
            ("application/json", 406),
            ("text/event-stream", 406),
            ("text/html", 406),
        ],
    )
    async def test_accept_has_both_kinds(
        self, gateway: RunningGateway, accept: str, status: int
    ) -> None:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        assert (await gateway.post(message, headers={"accept": accept})).status == status

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            (b"{", -32700),
            (b"\xff", -32700),
            (b"", -32700),
            (json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]).encode(), -32602),
        ],
    )
    async def test_a_body_that_is_no_message_is_400(
        self, gateway: RunningGateway, body: bytes, code: int
    ) -> None:
        answer = await gateway.post(body)
        assert (answer.status, json.loads(answer.text)["error"]["code"]) == (400, code)

    async def test_another_content_type_is_400(self, gateway: RunningGateway) -> None:
        answer = await gateway.post(b"{}", headers={"content-type": "text/plain"})
        assert answer.status == 400
