"""An authorization server made by the tests: real keys, real HTTP, and faults on demand."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from time import time
from typing import Any

import jwt
from aiohttp import BasicAuth, web
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

RESOURCE = "https://memory.example.org/mcp"


class SigningKey:
    """A key pair with its id, and the public half as an issuer publishes it."""

    def __init__(
        self, key_id: str, algorithm: str = "RS256", *, bits: int = 2048, owner: str = ""
    ) -> None:
        self.key_id = key_id
        self.algorithm = algorithm
        self.private, self.public = _pair(f"{owner} {key_id}", algorithm, bits)

    @property
    def jwk(self) -> dict[str, Any]:
        return {**self.public, "kid": self.key_id, "alg": self.algorithm, "use": "sig"}

    def sign(self, claims: Mapping[str, Any], *, headers: Mapping[str, Any] | None = None) -> str:
        """A header of None is left out."""
        named = {"kid": self.key_id, "typ": "at+jwt", **(headers or {})}
        kept = {name: value for name, value in named.items() if value is not None or name == "typ"}
        return jwt.encode(dict(claims), self.private, algorithm=self.algorithm, headers=kept)


@lru_cache
def _pair(_name: str, algorithm: str, bits: int) -> tuple[Any, dict[str, Any]]:
    if algorithm == "EdDSA":
        edwards = ed25519.Ed25519PrivateKey.generate()
        return edwards, OKPAlgorithm.to_jwk(edwards.public_key(), as_dict=True)
    if algorithm.startswith("ES"):
        curves: dict[str, ec.EllipticCurve] = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1()}
        elliptic = ec.generate_private_key(curves[algorithm])
        return elliptic, ECAlgorithm.to_jwk(elliptic.public_key(), as_dict=True)
    prime = rsa.generate_private_key(public_exponent=65537, key_size=bits)
    return prime, RSAAlgorithm.to_jwk(prime.public_key(), as_dict=True)


class LocalIssuer:
    """Publishes keys at a real address. A test changes what it answers as it goes."""

    def __init__(self, url: str, *, owner: str = "") -> None:
        self.url = url
        self.key = SigningKey("k1", owner=owner)
        self.published: list[Any] = [self.key.jwk]
        self.asked: list[str] = []
        self.metadata: dict[str, Any] = {
            "issuer": url,
            "jwks_uri": f"{url}/keys",
            "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token",
            "response_types_supported": ["code"],
        }
        # By path: what to answer instead.
        self.faults: dict[str, Callable[[], web.StreamResponse]] = {}
        # Cleared, the keys are not answered until it is set again.
        self.gate = asyncio.Event()
        self.gate.set()
        self.arrived = asyncio.Event()

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Of a good token; a change to None takes the claim away."""
        now = int(time())
        good = {
            "iss": self.url,
            "aud": RESOURCE,
            "sub": "alice",
            "iat": now,
            "nbf": now,
            "exp": now + 600,
        }
        return {name: value for name, value in {**good, **changes}.items() if value is not None}

    def token(self, **changes: Any) -> str:
        return self.key.sign(self.claims(**changes))

    def rotate(self, key_id: str = "k2") -> SigningKey:
        """Sign with a new key from now on, published alone."""
        self.key = SigningKey(key_id)
        self.published = [self.key.jwk]
        return self.key

    def fetches(self, path: str = "/keys") -> int:
        return self.asked.count(path)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(request.path)
        fault = self.faults.get(request.path)
        if fault is not None:
            return fault()
        if request.path == "/keys":
            self.arrived.set()
            await self.gate.wait()
            return web.json_response({"keys": self.published})
        if request.path == "/.well-known/openid-configuration":
            return web.json_response(self.metadata)
        if request.path == "/token":
            return await self._issue(request)
        return web.Response(status=404)

    async def _issue(self, request: web.BaseRequest) -> web.StreamResponse:
        """The grant of client credentials: the client is the subject (RFC 6749, RFC 8707)."""
        user = BasicAuth.decode(request.headers["authorization"]).login
        form = await request.post()
        token = self.token(sub=user, aud=form["resource"], scope=form.get("scope"))
        return web.json_response({"access_token": token, "token_type": "Bearer", "expires_in": 600})


def text(body: str, *, status: int = 200) -> Callable[[], web.StreamResponse]:
    return lambda: web.Response(text=body, status=status, content_type="application/json")


def redirect(location: str) -> Callable[[], web.StreamResponse]:
    return lambda: web.Response(status=302, headers={"location": location})


def huge() -> web.StreamResponse:
    return web.Response(text=json.dumps({"keys": [], "padding": "x" * 300_000}))


@asynccontextmanager
async def local_issuer(owner: str = "") -> AsyncIterator[LocalIssuer]:
    issuers: list[LocalIssuer] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return await issuers[0].answer(request)

    server = web.Server(answer)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    issuer = LocalIssuer(f"http://127.0.0.1:{runner.addresses[0][1]}", owner=owner)
    issuers.append(issuer)
    try:
        yield issuer
    finally:
        issuer.gate.set()
        await runner.cleanup()
