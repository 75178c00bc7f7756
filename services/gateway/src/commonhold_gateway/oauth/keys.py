"""The keys of an issuer: which of a published set verify tokens, and how long they are believed.

docs/reference/mcp.md, section 1.1.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from math import inf
from typing import Any, TypeAlias

import msgspec
import structlog
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from commonhold.ops.metrics import FAILED, OK
from commonhold_gateway.oauth.refusals import IssuerAwayError

# Asymmetric ones alone: with a shared secret, who verifies could also sign.
# What a key must be for each: its type, and its curve where that has a choice.
FITTING_KEYS: Mapping[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "RS384": ("RSA", None),
    "RS512": ("RSA", None),
    "PS256": ("RSA", None),
    "PS384": ("RSA", None),
    "PS512": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}

FETCH_PAUSE_SECONDS = 10.0
FRESH_SECONDS = 300.0
STALE_SECONDS = 3600.0

# By key id and algorithm. Without an id, only the one key that fits the algorithm is meant.
KeySet: TypeAlias = Mapping[tuple[str | None, str], PyJWK]

logger = structlog.get_logger(__name__)


def read_keys(document: Any, *, algorithms: tuple[str, ...]) -> KeySet:
    """The keys of a JWK set that may verify these algorithms; others are passed over.

    Raises ValueError when nothing is left, so that a broken answer replaces no good keys.
    """
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError("is no JWK set")
    keys: dict[tuple[str | None, str], PyJWK] = {}
    for algorithm in algorithms:
        fitting = [key for entry in entries if (key := _key(entry, algorithm)) is not None]
        for key in fitting:
            if key.key_id is not None:
                keys.setdefault((key.key_id, algorithm), key)
        if len(fitting) == 1:
            keys[None, algorithm] = fitting[0]
    if not keys:
        raise ValueError(f"holds no key for {', '.join(algorithms)}")
    return keys


def _key(entry: Any, algorithm: str) -> PyJWK | None:
    if not isinstance(entry, dict) or not _is_meant(entry, algorithm):
        return None
    try:
        return PyJWK(entry, algorithm)
    except (PyJWTError, ValueError, TypeError, AttributeError):
        return None


def _is_meant(entry: Mapping[str, Any], algorithm: str) -> bool:
    key_type, curve = FITTING_KEYS[algorithm]
    operations = entry.get("key_ops", ["verify"])
    return (
        entry.get("kty") == key_type
        and (curve is None or entry.get("crv") == curve)
        and entry.get("alg", algorithm) == algorithm
        and entry.get("use", "sig") == "sig"
        and isinstance(operations, list)
        and "verify" in operations
        and isinstance(entry.get("kid", ""), str)
        # Published with its private half: anybody can sign with it.
        and "d" not in entry
    )


class _Fetched(msgspec.Struct, frozen=True):
    keys: KeySet
    at: float


class KeyCache:
    """The keys of one issuer, fetched when they are needed, by one fetch at a time.

    Keys are fresh for `FRESH_SECONDS`; for as long again they serve while they are fetched
    anew. Older ones serve only when the fetch failed, up to `STALE_SECONDS`. No fetch
    begins within `FETCH_PAUSE_SECONDS` of another, whatever key ids tokens name.
    """

    def __init__(
        self, name: str, *, fetch: Callable[[], Awaitable[KeySet]], clock: Callable[[], float]
    ) -> None:
        self._name = name
        self._fetch = fetch
        self._clock = clock
        self._fetched: _Fetched | None = None
        self._running: asyncio.Task[None] | None = None
        self._began = -inf
        self._failed = False
        # By outcome; read when the metrics are scraped.
        self.fetches = {OK: 0, FAILED: 0}

    async def find(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        """The key, or None when the issuer has none of that id for the algorithm.

        Raises IssuerAwayError when that cannot be told.
        """
        if self._age >= FRESH_SECONDS:
            await self._renew(waits=self._age >= 2 * FRESH_SECONDS)
        key = self._known(key_id, algorithm)
        if key is None:
            await self._renew(waits=True)
            key = self._known(key_id, algorithm)
        if key is None and self._failed:
            raise IssuerAwayError(self._name)
        return key

    async def close(self) -> None:
        """End the fetch that is under way."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    @property
    def _age(self) -> float:
        return inf if self._fetched is None else self._clock() - self._fetched.at

    def _known(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        if self._fetched is None or self._age >= STALE_SECONDS:
            return None
        return self._fetched.keys.get((key_id, algorithm))

    async def _renew(self, *, waits: bool) -> None:
        """Join the fetch under way or begin one, unless it is too early for that."""
        if self._running is None or self._running.done():
            if self._clock() - self._began < FETCH_PAUSE_SECONDS:
                return
            self._began = self._clock()
            self._running = asyncio.create_task(self._replace())
        if waits:
            # Shared by all who wait: one of them that is cancelled does not end it.
            await asyncio.shield(self._running)

    async def _replace(self) -> None:
        try:
            keys = await self._fetch()
        except Exception as error:
            self._failed = True
            self.fetches[FAILED] += 1
            is_expected = isinstance(error, OSError | ValueError)
            logger.warning(
                "issuer_keys_not_fetched",
                issuer=self._name,
                reason=str(error),
                exc_info=not is_expected,
            )
            return
        self._failed = False
        self.fetches[OK] += 1
        self._fetched = _Fetched(keys, self._clock())
