"""Fetching an issuer's keys: discovery, and what a bad answer must not do."""

from collections.abc import Callable

import pytest
from aiohttp import web

from commonhold_gateway.oauth import fetches
from commonhold_gateway.oauth.fetches import discovery_urls, fetch_key_set
from tests.support.issuers import LocalIssuer, huge, redirect, text

OPENID = "/.well-known/openid-configuration"
RFC_8414 = "/.well-known/oauth-authorization-server"


async def test_an_explicit_address_is_asked_alone(issuer: LocalIssuer) -> None:
    document = await fetch_key_set(issuer.url, jwks_url=f"{issuer.url}/keys")
    assert document == {"keys": issuer.published}
    assert issuer.asked == ["/keys"]


async def test_the_address_is_discovered_by_rfc_8414_and_then_by_openid(
    issuer: LocalIssuer,
) -> None:
    assert await fetch_key_set(issuer.url, jwks_url=None) == {"keys": issuer.published}
    assert issuer.asked == [RFC_8414, OPENID, "/keys"]


@pytest.mark.parametrize(
    ("issuer", "rfc_8414", "openid"),
    [
        ("https://id.org", f"https://id.org{RFC_8414}", f"https://id.org{OPENID}"),
        ("https://id.org/", f"https://id.org{RFC_8414}", f"https://id.org{OPENID}"),
        ("https://id.org/a/b", f"https://id.org{RFC_8414}/a/b", f"https://id.org/a/b{OPENID}"),
    ],
)
def test_the_path_of_an_issuer_goes_where_each_document_wants_it(
    issuer: str, rfc_8414: str, openid: str
) -> None:
    assert discovery_urls(issuer) == (rfc_8414, openid)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"issuer": "https://evil.example"}, "another issuer's"),
        ({"jwks_uri": None}, "no jwks_uri"),
        ({"jwks_uri": 5}, "no jwks_uri"),
        ({"jwks_uri": "http://id.example.org/keys"}, "https://"),
        ({"jwks_uri": "file:///etc/passwd"}, "https://"),
        ({"jwks_uri": "https://a@id.example.org/keys"}, "no user"),
    ],
)
async def test_metadata_that_lead_astray_are_refused(
    issuer: LocalIssuer, metadata: dict[str, object], reason: str
) -> None:
    issuer.metadata |= metadata
    with pytest.raises(ValueError, match=reason):
        await fetch_key_set(issuer.url, jwks_url=None)
    assert issuer.fetches() == 0


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (text("", status=500), "answered 500"),
        (text("<html>"), "no JSON"),
        (text("[" * 100_000), "no JSON"),
        (text('{"keys": [}'), "no JSON"),
        (huge, "more than 262144 bytes"),
        (redirect("/elsewhere"), "answered 302"),
    ],
)
async def test_an_answer_that_is_no_key_set_is_refused(
    issuer: LocalIssuer, fault: Callable[[], web.StreamResponse], reason: str
) -> None:
    issuer.faults["/keys"] = fault
    with pytest.raises(ValueError, match=reason):
        await fetch_key_set(issuer.url, jwks_url=f"{issuer.url}/keys")
    assert "/elsewhere" not in issuer.asked


async def test_an_issuer_that_hangs_is_given_up(
    issuer: LocalIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetches, "FETCH_SECONDS", 0.05)
    issuer.gate.clear()
    with pytest.raises(OSError, match="no answer within"):
        await fetch_key_set(issuer.url, jwks_url=f"{issuer.url}/keys")


async def test_an_issuer_that_is_not_there_is_an_os_error() -> None:
    with pytest.raises(OSError, match="Cannot connect"):
        await fetch_key_set("http://127.0.0.1:1", jwks_url="http://127.0.0.1:1/keys")
