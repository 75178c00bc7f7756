"""Which tokens open the door, and what every other one is told."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from time import time
from typing import Any

import pytest

from commonhold_gateway.oauth.keys import FETCH_PAUSE_SECONDS
from commonhold_gateway.oauth.refusals import DESCRIPTIONS
from tests.support.issuers import RESOURCE, LocalIssuer, SigningKey, local_issuer, text
from tests.support.oauth_doors import Door, entry, header

METADATA_URL = "https://memory.example.org/.well-known/oauth-protected-resource/mcp"


@pytest.fixture
async def door(issuer: LocalIssuer) -> AsyncIterator[Door]:
    made = Door(entry(issuer.url, extra='conversations = ["{sub}_"]'))
    yield made
    await made.door.close()


def b64(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unsigned(issuer: LocalIssuer) -> str:
    return f"{b64({'alg': 'none', 'typ': 'JWT', 'kid': 'k1'})}.{b64(issuer.claims())}."


def signed_with_the_public_key(issuer: LocalIssuer) -> str:
    """The classic confusion: HMAC keyed by what the issuer publishes."""
    head = b64({"alg": "HS256", "typ": "JWT", "kid": "k1"})
    secret = issuer.key.private.public_key().public_numbers().n.to_bytes(256, "big")
    body = f"{head}.{b64(issuer.claims())}"
    return f"{body}.{b64(hmac.new(secret, body.encode(), hashlib.sha256).digest())}"


def with_header(**headers: Any) -> Callable[[LocalIssuer], str]:
    return lambda issuer: issuer.key.sign(issuer.claims(), headers=headers)


def with_claims(**claims: Any) -> Callable[[LocalIssuer], str]:
    return lambda issuer: issuer.token(**claims)


def by_another_key(issuer: LocalIssuer) -> str:
    return SigningKey("k1", bits=3072).sign(issuer.claims())


def tampered(issuer: LocalIssuer) -> str:
    head, _, signature = issuer.token().split(".")
    return f"{head}.{b64(issuer.claims(sub='bob'))}.{signature}"


def bare_header(**header_fields: Any) -> Callable[[LocalIssuer], str]:
    return lambda issuer: f"{b64(header_fields)}.{b64(issuer.claims())}.{b64(b'x' * 256)}"


def with_time(name: str, offset: float) -> Callable[[LocalIssuer], str]:
    return lambda issuer: issuer.token(**{name: int(time() + offset)})


def as_bytes(payload: bytes) -> Callable[[LocalIssuer], str]:
    head = {"alg": "RS256", "kid": "k1"}
    return lambda _issuer: f"{b64(head)}.{b64(payload)}.{b64(b'x')}"


REFUSALS: dict[str, tuple[Callable[[LocalIssuer], str], str]] = {
    "no JWT": (lambda _: "opaque", "malformed"),
    "empty": (lambda _: "", "malformed"),
    "two parts": (lambda _: "a.b", "malformed"),
    "five parts": (lambda issuer: issuer.token() + ".x.y", "malformed"),
    "not base64": (lambda _: "é.é.é", "malformed"),
    "too long": (with_claims(padding="x" * 20_000), "malformed"),
    "payload no JSON": (as_bytes(b"{"), "malformed"),
    "payload a list": (as_bytes(b"[]"), "malformed"),
    "payload nested deep": (as_bytes(b"[" * 9000), "malformed"),
    "payload not UTF-8": (as_bytes(b"\xff"), "malformed"),
    "unsigned": (unsigned, "algorithm"),
    "HMAC with the public key": (signed_with_the_public_key, "algorithm"),
    "no algorithm": (bare_header(kid="k1"), "algorithm"),
    "algorithm a list": (bare_header(alg=["RS256"], kid="k1"), "algorithm"),
    "algorithm not listed": (
        lambda issuer: SigningKey("p", "EdDSA").sign(issuer.claims()),
        "algorithm",
    ),
    "crit": (with_header(crit=["exp"], exp=1), "header"),
    "crit that a library knows": (
        bare_header(alg="RS256", kid="k1", crit=["b64"], b64=True),
        "header",
    ),
    "crit empty": (bare_header(alg="RS256", kid="k1", crit=[]), "header"),
    "kid a number": (bare_header(alg="RS256", kid=1), "header"),
    "typ of a logout token": (with_header(typ="logout+jwt"), "header"),
    "typ of a proof": (with_header(typ="dpop+jwt"), "header"),
    "typ a number": (bare_header(alg="RS256", kid="k1", typ=1), "header"),
    "another issuer": (with_claims(iss="https://evil.example"), "issuer"),
    "issuer with a slash more": (lambda i: i.token(iss=i.url + "/"), "issuer"),
    "no issuer": (with_claims(iss=None), "issuer"),
    "unknown key": (with_header(kid="made-up"), "key"),
    "key of the header": (
        lambda i: SigningKey("x").sign(i.claims(), headers={"jwk": SigningKey("x").jwk}),
        "key",
    ),
    "another key of that id": (by_another_key, "signature"),
    "tampered": (tampered, "signature"),
    "signature of noise": (
        lambda i: f"{i.token().rsplit('.', 1)[0]}.{b64(b'x' * 256)}",
        "signature",
    ),
    "signature empty": (lambda i: i.token().rsplit(".", 1)[0] + ".", "signature"),
    "expired": (with_time("exp", -60), "expired"),
    "not yet": (with_time("nbf", 120), "not_yet"),
    "issued in the future": (with_time("iat", 120), "not_yet"),
    "no expiry": (with_claims(exp=None), "claims"),
    "expiry a string": (with_claims(exp="9999999999"), "claims"),
    "expiry true": (with_claims(exp=True), "expired"),
    "expiry a word": (with_claims(exp="soon"), "claims"),
    "expiry infinite": (with_claims(exp=float("inf")), "claims"),
    "no audience": (with_claims(aud=None), "claims"),
    "another audience": (with_claims(aud="https://other.example/mcp"), "audience"),
    "audience that begins alike": (with_claims(aud=RESOURCE + "/x"), "audience"),
    "audience an object": (with_claims(aud={RESOURCE: 1}), "audience"),
    "audience mixed": (with_claims(aud=[RESOURCE, 1]), "audience"),
    "subject a number": (with_claims(sub=7), "claims"),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_token_that_proves_nothing_is_told_why(
    door: Door, issuer: LocalIssuer, name: str
) -> None:
    forge, outcome = REFUSALS[name]
    reply = await door.refuse(forge(issuer))
    assert (reply.status, reply.body) == (401, b"unauthorized")
    challenge = header(reply, "www-authenticate")
    assert challenge is not None
    assert challenge == (
        f'Bearer resource_metadata="{METADATA_URL}", error="invalid_token", '
        f'error_description="{DESCRIPTIONS[outcome]}"'
    )
    assert [kind for _, kind in door.counted()] == [outcome]


async def test_no_address_of_a_header_is_ever_asked(door: Door, issuer: LocalIssuer) -> None:
    async with local_issuer("stranger") as stranger:
        url = f"{stranger.url}/keys"
        headers = {"jku": url, "x5u": url, "kid": "stranger"}
        await door.refuse(stranger.key.sign(issuer.claims(), headers=headers))
        assert stranger.asked == []


async def test_a_good_token_is_its_bearer(door: Door, issuer: LocalIssuer) -> None:
    identity = await door.admit(issuer.token())
    assert identity.client == "oauth:acme/user:alice"
    assert identity.actor == "oauth:acme/user:alice/mcp:gateway"
    assert identity.reach is not None
    assert [(m.scope, m.mount_path) for m in identity.reach.mounts.mounts] == [
        ("user:alice", "user")
    ]
    assert identity.reach.conversation_prefixes == ("alice_",)
    assert door.counted() == {("acme", "accepted"): 1}


GOOD: dict[str, Callable[[LocalIssuer], str]] = {
    "typ JWT": with_header(typ="JWT"),
    "typ in full": with_header(typ="application/at+JWT"),
    "no typ": with_header(typ=None),
    "several audiences": with_claims(aud=["https://other.example", RESOURCE]),
    "no iat or nbf": with_claims(iat=None, nbf=None),
    "expired within the leeway": with_time("exp", -5),
    "not yet, within the leeway": with_time("nbf", 5),
    "no kid, one key": lambda i: i.key.sign(i.claims(), headers={"kid": None}),
    "fraction of a second": lambda i: i.token(exp=int(time()) + 60.5),
}


@pytest.mark.parametrize("name", GOOD)
async def test_what_issuers_differ_in_is_accepted(
    door: Door, issuer: LocalIssuer, name: str
) -> None:
    assert (await door.admit(GOOD[name](issuer))).client == "oauth:acme/user:alice"


@pytest.mark.parametrize("algorithm", ["PS256", "ES256", "ES384", "EdDSA"])
async def test_an_algorithm_that_is_listed_verifies(issuer: LocalIssuer, algorithm: str) -> None:
    door = Door(entry(issuer.url, extra=f'algorithms = ["{algorithm}"]'))
    issuer.key = SigningKey("k9", algorithm)
    issuer.published = [issuer.key.jwk]
    assert await door.admit(issuer.token())


async def test_a_short_rsa_key_is_not_believed(door: Door, issuer: LocalIssuer) -> None:
    issuer.key = SigningKey("short", bits=1024)
    issuer.published = [issuer.key.jwk]
    with pytest.warns(match="1024 bits"):
        token = issuer.token()
    await door.refuse(token)
    assert door.counted() == {("acme", "key"): 1}


@pytest.mark.parametrize("authorization", [None, "", "Basic x", "Bearer", "Bearerx y"])
async def test_a_request_without_a_token_is_no_business_of_this_door(
    door: Door, authorization: str | None
) -> None:
    assert await door.door.identify(authorization) is None
    assert door.door.challenge(authorization) == f'Bearer resource_metadata="{METADATA_URL}"'
    assert door.counted() == {}


async def test_the_scheme_has_no_case(door: Door, issuer: LocalIssuer) -> None:
    assert await door.door.identify(f"bEARER {issuer.token()}")


async def test_a_rotated_key_is_found_and_the_old_one_forgotten(issuer: LocalIssuer) -> None:
    now = [0.0]
    door = Door(entry(issuer.url), clock=lambda: now[0])
    old = issuer.token()
    await door.admit(old)
    issuer.rotate()
    now[0] += FETCH_PAUSE_SECONDS
    assert await door.admit(issuer.token())
    assert (await door.refuse(old)).status == 401
    assert issuer.fetches() == 2


@pytest.mark.parametrize("fault", [text("", status=500), text("{}"), text('{"keys": []}')])
async def test_a_token_that_cannot_be_judged_is_answered_503(
    door: Door, issuer: LocalIssuer, fault: Callable[[], Any]
) -> None:
    issuer.faults["/keys"] = fault
    reply = await door.refuse(issuer.token())
    assert (reply.status, header(reply, "retry-after")) == (503, "1")
    assert door.counted() == {("acme", "away"): 1}
    assert dict(door.door.fetches()) == {("acme", "ok"): 0, ("acme", "failed"): 1}


async def test_a_broken_answer_does_not_take_good_keys_away(issuer: LocalIssuer) -> None:
    now = [0.0]
    door = Door(entry(issuer.url), clock=lambda: now[0])
    await door.admit(issuer.token())
    issuer.faults["/keys"] = text('{"keys": []}')
    now[0] += 3000
    assert await door.admit(issuer.token())


async def test_a_hundred_tokens_at_once_cost_one_fetch(door: Door, issuer: LocalIssuer) -> None:
    issuer.gate.clear()
    token = issuer.token()
    admitting = [asyncio.create_task(door.admit(token)) for _ in range(100)]
    await issuer.arrived.wait()
    issuer.gate.set()
    assert {identity.client for identity in await asyncio.gather(*admitting)} == {
        "oauth:acme/user:alice"
    }
    assert issuer.fetches() == 1


SCOPED = 'required_scopes = ["memory", "history"]'


@pytest.mark.parametrize(
    "claims",
    [
        {"scope": "openid memory history"},
        {"scope": ["memory", "history"]},
        {"scp": "history memory"},
        {"scp": ["memory", "history", "x"]},
    ],
)
async def test_required_scopes_are_found(issuer: LocalIssuer, claims: dict[str, Any]) -> None:
    assert await Door(entry(issuer.url, extra=SCOPED)).admit(issuer.token(**claims))


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"scope": "memory"},
        {"scope": "memory,history"},
        {"scope": "MEMORY HISTORY"},
        {"scope": {"memory": 1, "history": 1}},
        {"scope": "memory", "scp": ["history"]},
        {"scope": ["memory history", 1]},
        {"scp": 5},
    ],
)
async def test_a_token_without_a_required_scope_is_told_which_to_ask_for(
    issuer: LocalIssuer, claims: dict[str, Any]
) -> None:
    door = Door(entry(issuer.url, extra=SCOPED))
    reply = await door.refuse(issuer.token(**claims))
    assert reply.status == 403
    assert json.loads(reply.body)["error"]["code"] == "forbidden"
    challenge = header(reply, "www-authenticate")
    assert challenge is not None
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="memory history"' in challenge
    assert f'resource_metadata="{METADATA_URL}"' in challenge
    assert door.counted() == {("acme", "scopes"): 1}


@pytest.mark.parametrize("value", ["bob/../alice", "bob:x", "*", "..", "é", "x" * 129])
async def test_a_claim_that_makes_no_name_is_403_and_not_quoted(
    door: Door, issuer: LocalIssuer, value: str
) -> None:
    reply = await door.refuse(issuer.token(sub=value))
    message = json.loads(reply.body)["error"]["message"]
    assert reply.status == 403
    assert "claim 'sub' holds what a name must not hold" in message
    assert value not in message.replace("/mcp", "")
    assert header(reply, "www-authenticate") is None
    assert door.counted() == {("acme", "unmapped"): 1}


async def test_names_that_are_too_long_together_are_403(issuer: LocalIssuer) -> None:
    scope = "/".join(f"{kind}:{{sub}}" for kind in "abcd")
    door = Door(entry(issuer.url, scope=scope))
    reply = await door.refuse(issuer.token(sub="x" * 128))
    assert (reply.status, b"too long" in reply.body) == (403, True)


async def test_by_setting_it_is_hashed_in_every_name(issuer: LocalIssuer) -> None:
    extra = 'misfits = "hash"\nconversations = ["{sub}_"]'
    identity = await Door(entry(issuer.url, extra=extra)).admit(issuer.token(sub="a|b@c"))
    name = "sha256" + hashlib.sha256(b"a|b@c").hexdigest()
    assert identity.client == f"oauth:acme/user:{name}"
    assert identity.reach is not None
    assert identity.reach.mounts.mounts[0].scope == f"user:{name}"
    assert identity.reach.conversation_prefixes == (f"{name}_",)


async def test_one_subject_of_two_issuers_is_two_clients(issuer: LocalIssuer) -> None:
    async with local_issuer("beta") as other:
        door = Door(
            entry(issuer.url, scope="org:acme/user:{sub}")
            + entry(other.url, name="beta", scope="org:beta/user:{sub}")
        )
        mine, theirs = await door.admit(issuer.token()), await door.admit(other.token())
        assert mine.client != theirs.client
        assert mine.reach != theirs.reach
        # Signed by one issuer in the name of the other.
        forged = await door.refuse(other.key.sign(issuer.claims()))
        assert forged.status == 401


async def test_neither_answers_nor_the_log_hold_a_token(
    door: Door, issuer: LocalIssuer, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = [issuer.token(sub="a/b"), by_another_key(issuer), issuer.token()]
    said = []
    for token in tokens[:2]:
        reply = await door.refuse(token)
        said.append(repr((reply.body, reply.headers)))
    said.append(repr(await door.admit(tokens[2])))
    captured = capsys.readouterr()
    text_said = "".join(said) + captured.out + captured.err
    for token in tokens:
        for part in token.split(".")[1:]:
            assert part not in text_said
    assert "token_unmapped" in text_said
