"""What the service says of itself as a protected resource."""

import json

import pytest

from commonhold_gateway.oauth.addresses import resource_url
from commonhold_gateway.oauth.resources import ProtectedResource
from tests.support.oauth_doors import entry, issuers_of

ROOT = "/.well-known/oauth-protected-resource"
SCOPES = 'required_scopes = ["memory"]'


def test_the_metadata_are_exactly_this_at_both_paths() -> None:
    issuers = issuers_of(entry("https://id.example.org"))
    documents = ProtectedResource("https://memory.example.org/mcp", issuers=issuers).documents
    assert set(documents) == {ROOT, f"{ROOT}/mcp"}
    for reply in documents.values():
        assert reply.status == 200
        assert (b"content-type", b"application/json") in reply.headers
        assert json.loads(reply.body) == {
            "resource": "https://memory.example.org/mcp",
            "authorization_servers": ["https://id.example.org"],
            "bearer_methods_supported": ["header"],
        }


def test_required_scopes_of_all_issuers_are_named_once() -> None:
    issuers = issuers_of(
        entry("https://a.example.org", scope="org:a/user:{sub}", extra=SCOPES)
        + entry("https://b.example.org", name="b", scope="org:b/user:{sub}", extra=SCOPES)
    )
    resource = ProtectedResource("https://memory.example.org/mcp", issuers=issuers)
    metadata = json.loads(resource.documents[ROOT].body)
    assert metadata["scopes_supported"] == ["memory"]
    assert metadata["authorization_servers"] == ["https://a.example.org", "https://b.example.org"]


def test_behind_a_prefix_the_metadata_are_where_the_address_says() -> None:
    issuers = issuers_of(entry("https://id.example.org"))
    resource = ProtectedResource("https://example.org/memory/mcp", issuers=issuers)
    assert set(resource.documents) == {ROOT, f"{ROOT}/mcp", f"{ROOT}/memory/mcp"}
    assert resource.challenge == f'Bearer resource_metadata="https://example.org{ROOT}/memory/mcp"'


@pytest.mark.parametrize(
    "text",
    ["https://memory.example.org/mcp", "http://127.0.0.1:6368/mcp", "http://[::1]:6368/mcp"],
)
def test_a_public_address_is_taken_as_it_is(text: str) -> None:
    assert resource_url(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "memory.example.org/mcp",
        "http://memory.example.org/mcp",
        "https://memory.example.org",
        "https://memory.example.org/mcp/",
        "https://memory.example.org/mcp?x",
        "https://memory.example.org/mcp#x",
        "https://u@memory.example.org/mcp",
        'https://memory.example.org/"/mcp',
        "https://memory.example.org:x/mcp",
        "https:///mcp",
        "https://memory.example.org/\n/mcp",
    ],
)
def test_an_address_that_clients_could_not_use_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        resource_url(text)
