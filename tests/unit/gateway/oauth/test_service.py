"""Access tokens through the whole gateway, by the official SDK's own flow and client."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from mcp_types import TextContent

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract.errors import ConfigurationError
from commonhold.ops.metrics import Metrics
from commonhold_gateway.app import clients_of, open_oauth_door
from commonhold_gateway.hosts import AllowedNames
from commonhold_gateway.oauth.resources import ProtectedResource
from commonhold_gateway.settings import load_settings
from tests.support.gateway_service import RunningGateway, running_gateway
from tests.support.issuers import RESOURCE, LocalIssuer
from tests.support.oauth_doors import entry, issuers_of

HOST = "memory.example.org"
WELL_KNOWN = "/.well-known/oauth-protected-resource"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
STATELESS = "2026-07-28"
# The public name is not the address: a proxy stands between.
ALLOWED = AllowedNames(hosts=(HOST, "localhost"), origins=())


@pytest.fixture
async def gateway(store: InMemoryStore, issuer: LocalIssuer) -> AsyncIterator[RunningGateway]:
    issuers = issuers_of(entry(issuer.url, extra='required_scopes = ["memory"]'))
    resource = ProtectedResource(RESOURCE, issuers=issuers)
    metrics = Metrics(version="0", revision="0")
    async with AsyncExitStack() as stack:
        door = open_oauth_door(issuers, resource, metrics, stack)
        service = await stack.enter_async_context(
            running_gateway(store, doors=[door], public=resource.documents, allowed=ALLOWED)
        )
        service.metrics = metrics
        yield service


class Proxy(httpx2.AsyncHTTPTransport):
    """Takes requests for the public name to the gateway."""

    def __init__(self, gateway: RunningGateway) -> None:
        super().__init__(trust_env=False)
        self._address = gateway.address

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host == HOST:
            request.url = request.url.copy_with(
                scheme="http", host=self._address.host, port=self._address.port
            )
        return await super().handle_async_request(request)


class Tokens:
    """Where the SDK keeps what it was issued."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("nobody registers")


@asynccontextmanager
async def connected(
    gateway: RunningGateway, issuer: LocalIssuer, *, user: str, era: str = "legacy"
) -> AsyncIterator[Client]:
    """A client that knows nothing but the public address and its credentials at the issuer."""
    auth = ClientCredentialsOAuthProvider(
        RESOURCE, Tokens(), client_id=user, client_secret="pw", issuer=issuer.url
    )
    async with httpx2.AsyncClient(transport=Proxy(gateway), auth=auth, timeout=30.0) as http:
        transport = streamable_http_client(RESOURCE, http_client=http)
        async with Client(transport, mode=era) as client:
            yield client


async def call(client: Client, command: str, **arguments: str) -> str:
    result = await client.call_tool("memory", {"command": command, **arguments})
    (first, *_) = result.content
    assert isinstance(first, TextContent)
    return first.text


@pytest.mark.parametrize("era", ["legacy", STATELESS])
async def test_a_client_finds_the_issuer_by_itself_and_two_users_are_apart(
    gateway: RunningGateway, issuer: LocalIssuer, store: InMemoryStore, era: str
) -> None:
    async with (
        connected(gateway, issuer, user="alice", era=era) as alice,
        connected(gateway, issuer, user="bob", era=era) as bob,
    ):
        await call(alice, "create", path="/user/note", file_text="alice-marker")
        await call(bob, "create", path="/user/other", file_text="bob-marker")
        assert "alice-marker" in await call(alice, "view", path="/user/note")
        for foreign in ("/user/note", "/user/user:alice/note", "/user:alice/note", "/"):
            assert "alice-marker" not in await call(bob, "view", path=foreign)
        assert "note" not in await call(bob, "view", path="/user")
    (version,) = await store.versions("user:alice", "note")
    assert version.actor == "oauth:acme/user:alice/mcp:gateway"
    (version,) = await store.versions("user:bob", "other")
    assert version.actor == "oauth:acme/user:bob/mcp:gateway"


@pytest.mark.parametrize("path", [WELL_KNOWN, f"{WELL_KNOWN}/mcp"])
async def test_the_metadata_ask_for_no_token_and_follow_no_host(
    gateway: RunningGateway, issuer: LocalIssuer, path: str
) -> None:
    answer = await gateway.ask("GET", path, token=None, headers={"host": "evil.example"})
    assert answer.status == 200
    assert answer.header("content-type") == "application/json"
    assert json.loads(answer.text) == {
        "resource": RESOURCE,
        "authorization_servers": [issuer.url],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["memory"],
    }
    assert (await gateway.ask("HEAD", path, token=None)).status == 200
    assert (await gateway.ask("POST", path, token=None)).status == 405


async def test_without_a_token_the_401_names_the_metadata_and_no_error(
    gateway: RunningGateway,
) -> None:
    answer = await gateway.post(PING, token=None)
    assert (answer.status, answer.body) == (401, b"unauthorized")
    assert answer.header("www-authenticate") == (
        f'Bearer resource_metadata="https://{HOST}{WELL_KNOWN}/mcp"'
    )


async def test_a_bad_token_is_401_with_an_error_on_every_path_and_method(
    gateway: RunningGateway,
) -> None:
    for method, path in (("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/x"), ("GET", "/")):
        answer = await gateway.ask(method, path, token="wrong")
        assert answer.status == 401
        assert 'error="invalid_token"' in (answer.header("www-authenticate") or "")


async def test_a_token_without_the_scope_is_403_before_anything_is_read(
    gateway: RunningGateway, issuer: LocalIssuer
) -> None:
    answer = await gateway.post(PING, token=issuer.token())
    assert answer.status == 403
    assert 'scope="memory"' in (answer.header("www-authenticate") or "")


async def test_a_token_that_cannot_be_judged_is_503(
    gateway: RunningGateway, issuer: LocalIssuer
) -> None:
    issuer.published = []
    answer = await gateway.post(PING, token=issuer.token(scope="memory"))
    assert (answer.status, answer.header("retry-after")) == (503, "1")


async def test_tokens_of_the_table_open_the_first_door_as_ever(
    gateway: RunningGateway, issuer: LocalIssuer
) -> None:
    assert (await gateway.post(PING)).status == 200
    assert issuer.asked == []


async def test_the_metrics_count_tokens_and_fetches_by_issuer(
    gateway: RunningGateway, issuer: LocalIssuer
) -> None:
    await gateway.post(PING, token=issuer.token(scope="memory"))
    await gateway.post(PING, token="junk")
    text = gateway.metrics.render().decode()
    assert 'commonhold_oauth_tokens_total{issuer="acme",outcome="accepted"} 1.0' in text
    assert 'commonhold_oauth_tokens_total{issuer="unknown",outcome="malformed"} 1.0' in text
    assert 'commonhold_oauth_key_fetches_total{issuer="acme",outcome="ok"} 1.0' in text


ENVIRON = {
    "NEOSIAN_POSTGRES_DSN": "postgresql://localhost/x",
    "NEOSIAN_SERVE_TOKEN": "client:ana=t",
    "COMMONHOLD_GATEWAY_MOUNTS": "scope=user:ana,path=user",
}


def test_the_file_may_hold_issuers_beside_default_mounts_of_the_table(tmp_path: Path) -> None:
    file = tmp_path / "clients.toml"
    file.write_text(entry("https://id.example.org"))
    environ = {**ENVIRON, "COMMONHOLD_GATEWAY_CLIENTS": str(file)}
    with pytest.raises(ConfigurationError, match="line 2: COMMONHOLD_GATEWAY_PUBLIC_URL"):
        clients_of(load_settings([], environ))
    clients = clients_of(load_settings([], {**environ, "COMMONHOLD_GATEWAY_PUBLIC_URL": RESOURCE}))
    assert [issuer.name for issuer in clients.issuers] == ["acme"]
    assert set(clients.reaches) == {"client:ana"}


def test_a_public_address_of_another_form_stops_the_start() -> None:
    environ = {**ENVIRON, "COMMONHOLD_GATEWAY_PUBLIC_URL": "http://memory.example.org/mcp"}
    with pytest.raises(ConfigurationError, match="COMMONHOLD_GATEWAY_PUBLIC_URL must be an https"):
        load_settings([], environ)
