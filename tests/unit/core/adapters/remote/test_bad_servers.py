"""Whatever answers at a URL: an error with a name, in time, and nothing repeated in vain."""

import asyncio
import gzip
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog

from commonhold.adapters.remote import (
    RemoteOptions,
    RemoteStore,
    ServiceAwayError,
    UnexpectedAnswerError,
    open_remote_store,
    remote_store,
)
from commonhold.contract import (
    CommonholdError,
    ConfigurationError,
    Erasable,
    ForbiddenError,
    Guarded,
    MemoryConflictError,
    Message,
    Pageable,
    StoreUnavailableError,
)
from commonhold.ops.settings import Secret
from commonhold.wire.refusals import UnknownRefusalError
from tests.support.ports import free_port
from tests.support.remote_stores import HANDSHAKE
from tests.support.scripted_model import (
    Exchange,
    Step,
    closes_in_the_middle,
    drips,
    hangs,
    hangs_after_the_head,
    pours,
    resets,
    says,
    scripted_model,
    talks_another_protocol,
)

TOKEN = "t0ken-that-must-not-show"
KEEPS_KEYS = says(HANDSHAKE, headers={"Commonhold-Idempotency": "1"})
KEEPS_NONE = says(HANDSHAKE)
QUICK = RemoteOptions(timeout_seconds=0.5, connect_seconds=0.5, pause_seconds=0.001)
PATIENT = RemoteOptions(pause_seconds=0.001, longest_pause_seconds=0.01)
NOTHING = says({"document": None})
HTML = b"<html><body>502 Bad Gateway</body></html>"
AS_HTML = {"Content-Type": "text/html"}
STAMP = "2026-01-01T00:00:00Z"
DOCUMENT = {
    "scope": "u:a",
    "path": "p",
    "content": "x",
    "version": 1,
    "created_at": STAMP,
    "updated_at": STAMP,
    "actor": None,
    "redacted": False,
    "extra": {},
}


@asynccontextmanager
async def scripted(
    *steps: Step, handshake: Step = KEEPS_KEYS, options: RemoteOptions = PATIENT
) -> Any:
    """The store of a service that shakes hands and then plays the steps."""
    async with scripted_model(handshake, *steps) as server:
        url = server.base_url.removesuffix("/v1")
        async with remote_store(url, Secret(TOKEN), options=options) as store:
            server.requests.clear()
            yield store, server


async def read(store: RemoteStore) -> object:
    return await store.read("u:a", "p")


async def write(store: RemoteStore) -> object:
    return await store.write("u:a", "p", "x")


def refuses(code: str, details: dict[str, Any], *, status: int = 400) -> Step:
    return says({"error": {"code": code, "message": "m", "details": details}}, status=status)


async def fault_of(call: Awaitable[object]) -> CommonholdError:
    with pytest.raises(CommonholdError) as caught:
        await asyncio.wait_for(call, 30)
    assert TOKEN not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("step", [hangs, hangs_after_the_head, drips], ids=lambda s: s.__name__)
@pytest.mark.parametrize("call", [read, write])
async def test_a_server_that_does_not_finish_is_left_in_time(
    step: Step, call: Callable[[RemoteStore], Awaitable[object]]
) -> None:
    async with scripted(step, options=QUICK) as (store, server):
        error = await fault_of(call(store))
        assert isinstance(error, ServiceAwayError)
        assert "in time" in error.reason
        # A wait that came to its end is not begun again.
        assert len(server.requests) == 1
        await asyncio.wait_for(server.abandoned.wait(), 10)


@pytest.mark.parametrize("call", [read, write])
async def test_a_call_has_one_time_however_often_it_is_repeated(
    call: Callable[[RemoteStore], Awaitable[object]],
) -> None:
    async def passes_late(exchange: Exchange) -> None:
        await asyncio.sleep(0.6)
        await says(b"", status=504)(exchange)

    options = RemoteOptions(timeout_seconds=1.0, pause_seconds=0.001)
    async with scripted(passes_late, options=options) as (store, server):
        error = await fault_of(call(store))
        assert isinstance(error, ServiceAwayError)
        assert "in time" in error.reason
        # The second answer comes after the end of the call, whatever the machine does.
        assert len(server.requests) < 3
        await asyncio.wait_for(server.abandoned.wait(), 10)


async def test_a_service_without_tls_is_not_said_to_have_a_bad_certificate() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        error = await fault_of(open_remote_store(url, Secret(TOKEN), options=PATIENT))
    assert isinstance(error, ConfigurationError)
    assert str(error) == f"{url} speaks no TLS that fits"


@pytest.mark.parametrize("step", [resets, closes_in_the_middle], ids=lambda s: s.__name__)
async def test_a_connection_that_breaks_off_is_a_store_away(step: Step) -> None:
    async with scripted(step) as (store, server):
        error = await fault_of(read(store))
        assert isinstance(error, StoreUnavailableError)
        assert error.retryable
        assert len(server.requests) == 3


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
async def test_a_status_that_passes_is_tried_again(status: int) -> None:
    passing = says(HTML, status=status, headers={**AS_HTML, "Retry-After": "3600"})
    async with scripted(passing, passing, NOTHING) as (store, server):
        assert await read(store) is None
        assert len(server.requests) == 3
    async with scripted(passing) as (store, server):
        error = await fault_of(read(store))
        assert isinstance(error, StoreUnavailableError)
        assert str(status) in error.reason


async def test_a_mutation_is_repeated_under_one_key() -> None:
    passing = says(b"", status=503)
    written = says({"document": DOCUMENT})
    async with scripted(passing, resets, written) as (store, server):
        assert (await store.write("u:a", "p", "x")).version == 1
        keys = {request.headers["idempotency-key"] for request in server.requests}
        assert (len(server.requests), len(keys)) == (3, 1)
        server.requests.clear()
        await store.write("u:a", "p", "x")
        assert server.requests[0].headers["idempotency-key"] not in keys


MUTATIONS: dict[str, Callable[[Any], Awaitable[object]]] = {
    "write": lambda store: store.write("u:a", "p", "x"),
    "delete": lambda store: store.delete("u:a", "p"),
    "rename": lambda store: store.rename("u:a", "p", "q"),
    "redact": lambda store: store.redact("u:a"),
    "append_turn": lambda store: store.append_turn("c", [Message(role="user", content="x")]),
    "append_projections": lambda store: store.append_projections("c", []),
    "redact_turns": lambda store: store.redact_turns("c"),
}


@pytest.mark.parametrize("name", MUTATIONS)
@pytest.mark.parametrize("step", [resets, closes_in_the_middle, says(b"", status=503)])
async def test_without_keys_no_mutation_is_ever_repeated(name: str, step: Step) -> None:
    async with scripted(step, handshake=KEEPS_NONE) as (store, server):
        assert isinstance(await fault_of(MUTATIONS[name](store)), StoreUnavailableError)
        assert len(server.requests) == 1
        assert "idempotency-key" not in server.requests[0].headers


async def test_without_retries_no_key_is_sent() -> None:
    options = RemoteOptions(retries=0)
    async with scripted(says(b"", status=503), options=options) as (store, server):
        await fault_of(write(store))
        await fault_of(read(store))
        assert len(server.requests) == 2
        assert "idempotency-key" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (says(HTML, headers=AS_HTML), "no answer of wire 6 (text/html)"),
        (says(b""), "no answer of wire 6"),
        (says(b'{"document":'), "no answer of wire 6"),
        (says([]), "no answer of wire 6"),
        (says({"documents": []}), "no answer of wire 6"),
        (says({"document": {**DOCUMENT, "version": "1"}}), "no answer of wire 6"),
        (says({"document": {**DOCUMENT, "created_at": "yesterday"}}), "no answer of wire 6"),
        (says(b'\xff\xfe{"document":null}'), "no answer of wire 6"),
        (says(HTML, status=500, headers=AS_HTML), "status 500"),
        (says(HTML, status=404, headers=AS_HTML), "status 404"),
        (says(HTML, status=405, headers=AS_HTML), "status 405"),
        (says(HTML, status=400, headers=AS_HTML), "no refusal of the wire (text/html)"),
        (says(HTML, status=413, headers=AS_HTML), "no refusal of the wire (text/html)"),
        (says({"error": "no"}, status=403), "no refusal of the wire (application/json)"),
        (says(b'{"x":' + b"[" * 200_000), "no answer of wire 6"),
        (says(b'{"x":' + b"[" * 200_000, status=400), "no refusal of the wire"),
        (talks_another_protocol, "no HTTP"),
    ],
)
async def test_what_is_not_of_the_wire_is_said_and_not_asked_again(step: Step, said: str) -> None:
    async with scripted(step) as (store, server):
        error = await fault_of(read(store))
        assert isinstance(error, UnexpectedAnswerError)
        assert said in str(error)
        assert "memory/read" in str(error)
        assert len(server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    async with scripted_model(NOTHING) as elsewhere:
        moved = says(b"", status=status, headers={"Location": f"{elsewhere.base_url}/memory/read"})
        async with scripted(moved) as (store, server):
            error = await fault_of(read(store))
            assert "redirect" in str(error)
            assert len(server.requests) == 1
        assert elsewhere.requests == []


async def test_an_answer_without_end_is_cut() -> None:
    options = RemoteOptions(answer_limit_bytes=100_000)
    for step in (pours, says(b" " * 100_001)):
        async with scripted(step, options=options) as (store, _):
            assert "more than 100000 bytes" in str(await fault_of(read(store)))
    body = b'{"document":null}'.ljust(100_000)
    async with scripted(says(body), options=options) as (store, _):
        assert await read(store) is None


async def test_a_compressed_answer_is_measured_as_it_unfolds() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    step = says(bomb, headers={"Content-Encoding": "gzip"})
    async with scripted(step, options=RemoteOptions(answer_limit_bytes=1_000_000)) as (store, _):
        assert "more than 1000000 bytes" in str(await fault_of(read(store)))


async def test_no_answer_is_asked_for_compressed_and_no_cookie_is_kept() -> None:
    step = says({"document": None}, headers={"Set-Cookie": "session=1; Path=/"})
    async with scripted_model(KEEPS_KEYS, step) as server:
        # Of an address no client keeps cookies; of a name it would.
        url = server.base_url.removesuffix("/v1").replace("127.0.0.1", "localhost")
        async with remote_store(url, Secret(TOKEN), options=PATIENT) as store:
            await read(store)
            await read(store)
    assert {request.headers["accept-encoding"] for request in server.requests} == {"identity"}
    assert len(server.requests) == 3
    assert not any("cookie" in request.headers for request in server.requests)


async def test_pages_that_follow_themselves_end() -> None:
    listing = says({"entries": [_ENTRY], "next_cursor": "again"})
    async with scripted(listing) as (store, server):
        assert "pages without an end" in str(await fault_of(store.list_documents("u:a")))
        assert len(server.requests) == 2
    turn = {"conversation_id": "c", "turn": 1, "messages": [], "created_at": STAMP}
    turns = says({"turns": [{**turn, "actor": None, "redacted": True}], "next_after": 1})
    async with scripted(turns) as (store, server):
        assert "pages without an end" in str(await fault_of(store.read_turns("c")))


_ENTRY = {
    "path": "p",
    "version": 1,
    "created_at": STAMP,
    "updated_at": STAMP,
    "redacted": False,
}


async def test_more_rows_than_asked_for_are_cut() -> None:
    version = {**_ENTRY, "action": "created", "content": "", "actor": None}
    del version["updated_at"]
    async with scripted(says({"versions": [version] * 9, "next_cursor": None})) as (store, _):
        assert len(await store.versions("u:a", "p", limit=2)) == 2


async def test_a_known_refusal_comes_back_with_its_data() -> None:
    details = {
        "scope": "u:a",
        "path": "p",
        "reason": "version_mismatch",
        "expected_version": 2**70,
        "actual_version": 3,
    }
    async with scripted(refuses("memory_conflict", details)) as (store, _):
        error = await fault_of(write(store))
        assert type(error) is MemoryConflictError
        assert error.details == details
    async with scripted(refuses("forbidden", {}, status=403)) as (store, _):
        assert type(await fault_of(read(store))) is ForbiddenError
    async with scripted(refuses("value_error", {}, status=413)) as (store, _):
        with pytest.raises(ValueError, match=r"^m$"):
            await read(store)


@pytest.mark.parametrize(
    ("code", "details"),
    [
        ("from_the_future", {"a": 1, "b": [2]}),
        ("memory_conflict", {"scope": "u:a"}),
        ("memory_scope_invalid", {"scope": 1, "reason": "r"}),
    ],
)
async def test_an_unknown_refusal_keeps_code_message_and_details(
    code: str, details: dict[str, Any]
) -> None:
    async with scripted(refuses(code, details)) as (store, _):
        error = await fault_of(read(store))
        assert isinstance(error, UnknownRefusalError)
        assert (error.refusal_code, error.message, error.code) == (code, "m", "neosian_error")
        assert error.details == {key: value for key, value in details.items() if key != "b"}


@pytest.mark.parametrize(
    ("step", "kind", "said"),
    [
        (says({**HANDSHAKE, "wire_version": 5}), ConfigurationError, "speaks wire 5, this release"),
        (says({"wire_version": 7}), ConfigurationError, "speaks wire 7, this release wire 6"),
        (says({"wire_version": 6}), UnexpectedAnswerError, "no answer of wire 6"),
        (says({"version": 6}), UnexpectedAnswerError, "no answer of wire 6"),
        (says(HTML, headers=AS_HTML), UnexpectedAnswerError, "text/html"),
        (says(b"unauthorized", status=401), ConfigurationError, "does not accept the token"),
        (says(b"Not Found", status=404), UnexpectedAnswerError, "status 404"),
        (says(b"", status=503), StoreUnavailableError, "answered 503"),
        (hangs, StoreUnavailableError, "in time"),
    ],
)
async def test_a_service_that_is_none_is_not_opened(
    step: Step, kind: type[CommonholdError], said: str
) -> None:
    async with scripted_model(step) as server:
        url = server.base_url.removesuffix("/v1")
        error = await fault_of(open_remote_store(url, Secret(TOKEN), options=QUICK))
        assert isinstance(error, kind)
        assert said in str(error)


async def test_nobody_there_is_said() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    error = await fault_of(open_remote_store(url, Secret(TOKEN), options=QUICK))
    assert isinstance(error, StoreUnavailableError)
    assert "cannot be reached" in error.reason


@pytest.mark.parametrize(
    "url", ["", "ftp://x", "localhost:1", "http://", "http://u:p@h", "http://h:0x", "http://h/?q"]
)
async def test_what_is_no_address_is_refused(url: str) -> None:
    error = await fault_of(open_remote_store(url, Secret(TOKEN)))
    assert isinstance(error, ConfigurationError)
    assert "u:p" not in str(error)


@pytest.mark.parametrize("token", ["", "a\nb: c", " a", "a\x00"])
async def test_a_token_that_no_header_carries_is_refused(token: str) -> None:
    error = await fault_of(open_remote_store("http://127.0.0.1:1", Secret(token)))
    assert "token" in str(error)


@pytest.mark.parametrize("pageable", [True, False])
@pytest.mark.parametrize("erasable", [True, False])
@pytest.mark.parametrize("keys", ["1", "2", None])
async def test_a_store_is_what_its_service_announces(
    *, pageable: bool, erasable: bool, keys: str | None
) -> None:
    handshake = says(
        {**HANDSHAKE, "pageable": pageable, "erasable": erasable},
        headers={} if keys is None else {"Commonhold-Idempotency": keys},
    )
    async with scripted(NOTHING, handshake=handshake) as (store, _):
        assert isinstance(store, Pageable) is pageable
        assert isinstance(store, Erasable) is erasable
        assert isinstance(store, Guarded) is (keys == "1")
        assert store.supports_optimistic_concurrency is True
        assert store.client == "client:default"


async def test_what_no_request_can_carry_is_refused_by_name() -> None:
    nested: Any = "x"
    for _ in range(100_000):
        nested = [nested]
    message = Message(role="user", content="x", extra=nested)
    async with scripted(NOTHING) as (store, server):
        with pytest.raises(ValueError, match="'content' must not contain a lone surrogate"):
            await store.write("u:a", "p", "\ud800")
        with pytest.raises(ValueError, match="'actor' must not contain a lone surrogate"):
            await store.write("u:a", "p", "x", actor="\ud800")
        with pytest.raises(ValueError, match="'messages' is nested too deeply"):
            await store.append_turn("c", [message])
        with pytest.raises(ValueError, match="request body exceeds 67108864 bytes"):
            await store.write("u:a", "p", "x" * 67108864)
        assert server.requests == []


async def test_a_cancellation_passes_and_closes_the_request() -> None:
    async with scripted(hangs) as (store, server):
        call = asyncio.create_task(read(store))
        server.asked.clear()
        await asyncio.wait_for(server.asked.wait(), 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(server.abandoned.wait(), 10)


async def test_the_token_is_sent_and_never_told(caplog: pytest.LogCaptureFixture) -> None:
    with structlog.testing.capture_logs() as events, caplog.at_level(logging.DEBUG):
        async with scripted(says(b"", status=503)) as (store, server):
            await fault_of(read(store))
            assert server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
            assert TOKEN not in repr(store)
            assert TOKEN not in repr(vars(store._caller._exchanges)["_options"])
    assert events
    assert TOKEN not in json.dumps(events, default=repr) + caplog.text


async def test_connections_are_used_again() -> None:
    connections: set[int] = set()

    async def answer(exchange: Exchange) -> None:
        connections.add(id(exchange.writer))
        await NOTHING(exchange)

    async with scripted(answer) as (store, server):
        for _ in range(5):
            await read(store)
        assert (len(connections), len(server.requests)) == (1, 5)


def test_options_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="timeout_seconds must be positive"):
        RemoteOptions(timeout_seconds=0)


async def test_a_closed_store_says_so() -> None:
    async with scripted(NOTHING) as (store, _):
        await store.close()
        with pytest.raises(RuntimeError, match="closed"):
            await read(store)
