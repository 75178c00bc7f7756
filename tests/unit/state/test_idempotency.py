"""Keys belong to a client, whatever token it shows, and need a store that keeps them."""

import json
from collections.abc import Mapping

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.adapters.in_memory.guarded import GuardedView
from commonhold.contract import Claim, IdempotencyKey
from commonhold.contract.idempotency import KEY_REUSED
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


async def test_a_client_may_give_the_digest_that_stands_for_its_body() -> None:
    store = RecordingStore()
    given = {**KEY, "commonhold-idempotency-digest": "0a" * 32}
    async with running(store) as wire:
        first = decoded(await wire.post("memory/write", BODY, headers=given))
        again = await wire.post("memory/write", {**BODY, "content": "y"}, headers=given)
        assert decoded(again) == first
        other = {**KEY, "commonhold-idempotency-digest": "0b" * 32}
        assert_refused(await wire.post("memory/write", BODY, headers=other), KEY_REUSED)
        for bad in ("", "0a", "0A" * 32, "0g" * 32, "0a" * 33):
            headers = {**KEY, "commonhold-idempotency-digest": bad}
            assert_refused(
                await wire.post("memory/write", BODY, headers=headers),
                "parameter 'Commonhold-Idempotency-Digest' must be 64 lower-case hex digits",
            )
    assert {digest for _, digest in store.guards} == {b"\n" * 32, b"\x0b" * 32}


async def test_what_was_answered_under_a_key_can_be_recalled() -> None:
    digest = "0a" * 32
    headers = {**KEY, "commonhold-idempotency-digest": digest}
    asked = {"key": "k", "digest": digest}
    said = [{"role": "user", "content": "hi"}]
    turn: dict[str, object] = {"conversation_id": "c", "messages": said}
    calls: tuple[tuple[str, Mapping[str, object], str], ...] = (
        ("memory/write", BODY, "document"),
        ("conversation/append_turn", turn, "turn"),
        ("memory/delete", {"scope": "u:a", "path": "none"}, "deleted"),
        ("conversation/append_projections", {"conversation_id": "c", "entries": []}, "nothing"),
    )
    for route, body, name in calls:
        async with running(InMemoryStore(), tokens="client:a=a,client:b=b") as wire:
            before = await wire.post("idempotency/recall", asked, token="a")
            assert decoded(before) == {"remembered": None}
            answer = decoded(await wire.post(route, body, token="a", headers=headers))
            told = {"value": answer[name]} if name == "deleted" else answer
            recalled = decoded(await wire.post("idempotency/recall", asked, token="a"))
            assert recalled == {"remembered": {"operation": route.partition("/")[2], **told}}
            other = await wire.post("idempotency/recall", asked, token="b")
            assert decoded(other) == {"remembered": None}
            reused = {"key": "k", "digest": "0b" * 32}
            assert_refused(await wire.post("idempotency/recall", reused, token="a"), KEY_REUSED)


async def test_a_bad_recall_is_refused() -> None:
    async with running(InMemoryStore()) as wire:
        for body, message in (
            ({}, "missing parameter: 'key'"),
            ({"key": "k"}, "missing parameter: 'digest'"),
            ({"key": "", "digest": "0a" * 32}, "idempotency key must be 1 to 255 visible ASCII"),
            ({"key": "k", "digest": "x"}, "parameter 'digest' must be 64 lower-case hex digits"),
        ):
            answer = await wire.post("idempotency/recall", body)
            assert answer.status == 400
            assert message in answer.text
    async with running(PlainStore()) as wire:
        answer = await wire.post("idempotency/recall", {"key": "k", "digest": "0a" * 32})
        assert_refused(
            answer,
            "PlainStore does not support idempotency keys",
            code="agent_configuration_error",
        )
