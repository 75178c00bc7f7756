"""Keys belong to a client, whatever token it shows, and need a store that keeps them."""

import json

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.adapters.in_memory.guarded import GuardedView
from commonhold.contract import Claim, IdempotencyKey
from tests.support.goldens.expectations import assert_refused, decoded
from tests.support.plain_store import PlainStore
from tests.support.wire_service import running

BODY = {"scope": "u:a", "path": "p", "content": "x"}
KEY = {"idempotency-key": "k"}


class RecordingStore(InMemoryStore):
    """Notes the keys and digests it is asked to guard by."""

    def __init__(self) -> None:
        super().__init__()
        self.guards: list[tuple[IdempotencyKey, bytes]] = []

    def guarded(
        self,
        *,
        key: IdempotencyKey | None = None,
        digest: bytes = b"",
        fence: Claim | None = None,
    ) -> GuardedView:
        assert key is not None
        self.guards.append((key, digest))
        return super().guarded(key=key, digest=digest, fence=fence)


async def test_two_clients_never_meet() -> None:
    async with running(InMemoryStore(), tokens="client:a=a,client:b=b") as wire:
        for token, version in (("a", 1), ("b", 2), ("a", 1), ("b", 2)):
            answer = await wire.post("memory/write", BODY, token=token, headers=KEY)
            document = decoded(answer)["document"]
            assert (document["version"], document["actor"]) == (version, f"client:{token}")


async def test_a_retry_after_a_rotation_still_matches() -> None:
    async with running(InMemoryStore(), tokens="client:a=new", previous="client:a=old") as wire:
        for token in ("old", "new"):
            answer = await wire.post("memory/write", BODY, token=token, headers=KEY)
            assert decoded(answer)["document"]["version"] == 1


async def test_the_digest_is_over_the_route_and_the_bytes_as_they_came() -> None:
    store = RecordingStore()
    async with running(store) as wire:
        raw = json.dumps(BODY)
        for index, (route, body) in enumerate(
            (
                ("memory/write", raw),
                ("memory/write", raw),
                ("memory/write", raw + " "),
                ("memory/delete", raw),
            )
        ):
            await wire.post(route, body, headers={"idempotency-key": f"k{index}"})
    digests = [digest for _, digest in store.guards]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
    assert store.guards[0][0] == IdempotencyKey("client:default", "k0")


async def test_a_store_that_keeps_no_keys_refuses_the_header() -> None:
    async with running(PlainStore()) as wire:
        answer = await wire.post("memory/write", BODY, headers=KEY)
        assert_refused(answer, "PlainStore keeps no idempotency keys")
        assert (await wire.post("memory/write", BODY)).status == 200
        assert (await wire.ask("GET", "/v1/capabilities")).header("commonhold-idempotency") is None


async def test_the_allowance_comes_before_the_key() -> None:
    async with running(InMemoryStore(), tokens="client:a@user:alice=a") as wire:
        answer = await wire.post("memory/write", BODY, token="a", headers={"idempotency-key": ""})
        assert answer.status == 403
