"""The keys of an issuer: which are believed, for how long, and how seldom they are fetched."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from jwt.algorithms import RSAAlgorithm

from commonhold_gateway.oauth.keys import (
    FETCH_PAUSE_SECONDS,
    FRESH_SECONDS,
    STALE_SECONDS,
    KeyCache,
    KeySet,
    read_keys,
)
from commonhold_gateway.oauth.refusals import IssuerAwayError
from tests.support.issuers import SigningKey

RSA = SigningKey("r1")
EC = SigningKey("e1", "ES256")
EDWARDS = SigningKey("o1", "EdDSA")
WITHOUT_ALG = {name: value for name, value in RSA.jwk.items() if name != "alg"}
# Both halves, as a careless issuer would publish them: what `key_ops` says does not matter.
PRIVATE = {**RSAAlgorithm.to_jwk(RSA.private, as_dict=True), "kid": "r1", "key_ops": ["verify"]}


def read(*entries: Any, algorithms: tuple[str, ...] = ("RS256", "ES256")) -> KeySet:
    return read_keys({"keys": list(entries)}, algorithms=algorithms)


def test_keys_of_several_kinds_are_found_by_id_and_algorithm() -> None:
    keys = read(RSA.jwk, EC.jwk, EDWARDS.jwk, algorithms=("RS256", "ES256", "EdDSA"))
    named = {key for key in keys if key[0] is not None}
    assert named == {("r1", "RS256"), ("e1", "ES256"), ("o1", "EdDSA")}


def test_a_key_that_names_no_algorithm_serves_all_that_fit_it() -> None:
    keys = read(WITHOUT_ALG, algorithms=("RS256", "PS512", "ES256"))
    assert {("r1", "RS256"), ("r1", "PS512")} <= set(keys)


def test_without_an_id_only_a_lone_key_is_meant() -> None:
    assert (None, "RS256") in read(RSA.jwk, EC.jwk)
    assert (None, "RS256") not in read(RSA.jwk, SigningKey("r2").jwk)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "k1",
        {},
        {"kty": "oct", "kid": "r1", "alg": "RS256", "k": "c2VjcmV0"},
        {"kty": "oct", "kid": "r1", "alg": "HS256", "k": "c2VjcmV0"},
        {**RSA.jwk, "use": "enc"},
        {**RSA.jwk, "key_ops": ["encrypt"]},
        {**RSA.jwk, "key_ops": "verify"},
        {**RSA.jwk, "alg": "RS512"},
        {**RSA.jwk, "kid": 7},
        {**RSA.jwk, "n": "!"},
        {**RSA.jwk, "n": 5},
        {"kty": "RSA", "kid": "r1"},
        {**EC.jwk, "x": "AA"},
        {**EC.jwk, "crv": "P-384"},
        PRIVATE,
    ],
    ids=repr,
)
def test_a_key_that_is_not_meant_for_this_is_passed_over(entry: Any) -> None:
    good = SigningKey("good", "ES256")
    assert {key for key in read(entry, good.jwk) if key[0] is not None} == {("good", "ES256")}
    with pytest.raises(ValueError, match="holds no key for RS256"):
        read(entry)


@pytest.mark.parametrize("document", [None, [], "keys", {}, {"keys": {}}, {"keys": None}])
def test_what_is_no_key_set_is_refused(document: Any) -> None:
    with pytest.raises(ValueError, match="is no JWK set"):
        read_keys(document, algorithms=("RS256",))


class Source:
    """What the cache fetches from: counts, fails and waits as it is told."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.count = 0
        self.keys = read(RSA.jwk)
        self.error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun = asyncio.Event()
        self.cache = KeyCache("acme", fetch=self.fetch, clock=lambda: self.now)

    async def fetch(self) -> KeySet:
        self.count += 1
        self.begun.set()
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return self.keys

    async def finds(self, key_id: str = "r1") -> bool:
        return await self.cache.find(key_id, "RS256") is not None


@pytest.fixture
async def source() -> AsyncIterator[Source]:
    made = Source()
    yield made
    await made.cache.close()


async def test_fresh_keys_are_fetched_once(source: Source) -> None:
    assert await source.finds()
    source.now += FRESH_SECONDS - 1
    assert await source.finds()
    assert source.count == 1


async def test_all_who_come_at_once_wait_for_one_fetch(source: Source) -> None:
    source.gate.clear()
    finding = [asyncio.create_task(source.finds()) for _ in range(50)]
    await source.begun.wait()
    source.gate.set()
    assert all(await asyncio.gather(*finding))
    assert source.count == 1


async def test_who_is_cancelled_does_not_end_the_fetch_of_the_others(source: Source) -> None:
    source.gate.clear()
    first, second = (asyncio.create_task(source.finds()) for _ in range(2))
    await source.begun.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    source.gate.set()
    assert await second
    assert source.count == 1


async def test_an_unknown_id_fetches_anew_and_finds_the_rotated_key(source: Source) -> None:
    assert await source.finds()
    source.keys = read(SigningKey("r2").jwk)
    source.now += FETCH_PAUSE_SECONDS
    assert await source.finds("r2")
    assert not await source.finds("r1")


async def test_ids_that_nobody_published_do_not_hammer_the_issuer(source: Source) -> None:
    for number in range(100):
        assert not await source.finds(f"made-up-{number}")
    assert source.count == 1
    source.now += FETCH_PAUSE_SECONDS
    for number in range(100):
        assert not await source.finds(f"made-up-{number}")
    assert source.count == 2
    assert await source.finds()


async def test_ageing_keys_serve_while_new_ones_are_fetched(source: Source) -> None:
    assert await source.finds()
    source.now += FRESH_SECONDS
    source.gate.clear()
    source.begun.clear()
    assert await source.finds()
    await source.begun.wait()
    assert source.count == 2


async def test_a_withdrawn_key_is_dropped_after_a_pause_in_traffic(source: Source) -> None:
    assert await source.finds()
    source.keys = read(SigningKey("r2").jwk)
    source.now += 2 * FRESH_SECONDS
    assert not await source.finds("r1")


async def test_stale_keys_serve_for_a_bounded_time_while_the_issuer_is_away(
    source: Source,
) -> None:
    assert await source.finds()
    source.error = OSError("refused")
    source.now += STALE_SECONDS - 1
    assert await source.finds()
    source.now += 1
    with pytest.raises(IssuerAwayError):
        await source.finds()


async def test_an_issuer_that_is_away_is_asked_once_a_pause(source: Source) -> None:
    source.error = OSError("refused")
    for _ in range(20):
        with pytest.raises(IssuerAwayError):
            await source.finds()
    assert source.count == 1
    source.error = None
    source.now += FETCH_PAUSE_SECONDS
    assert await source.finds()
    assert source.cache.fetches == {"ok": 1, "failed": 1}


async def test_an_answer_that_surprises_is_a_failed_fetch_and_not_the_end(source: Source) -> None:
    source.error = KeyError("surprise")
    with pytest.raises(IssuerAwayError):
        await source.finds()
    source.error = None
    source.now += FETCH_PAUSE_SECONDS
    assert await source.finds()


async def test_closing_ends_the_fetch_under_way(source: Source) -> None:
    source.gate.clear()
    finding = asyncio.create_task(source.finds())
    await source.begun.wait()
    await source.cache.close()
    with pytest.raises(asyncio.CancelledError):
        await finding
