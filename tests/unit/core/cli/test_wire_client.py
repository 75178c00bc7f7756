"""What the client sends, what it repeats, and what it says when it gives up."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, TypeAlias

import msgspec
import pytest

from commonhold.cli.errors import UsageError
from commonhold.cli.wire_client import (
    WireClient,
    WireRefusalError,
    WireTransportError,
    WireUnreachableError,
)
from tests.support.ports import free_port

CAPABILITIES = {
    "wire_version": 6,
    "neosian_version": "2.0.0",
    "backend": "PostgresStore",
    "supports_optimistic_concurrency": True,
    "client": "client:default",
}
Scripted: TypeAlias = tuple[int, dict[str, str], bytes]
OK: Scripted = (200, {}, b'{"deleted":true}')
UNAVAILABLE: Scripted = (503, {"Retry-After": "0"}, b"Service Unavailable")
DROP: Scripted = (0, {}, b"")


class Deleted(msgspec.Struct):
    deleted: bool


class Service:
    """Answers from a script and remembers what it was asked."""

    def __init__(self) -> None:
        self.script: list[Scripted] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.server = HTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                service.requests.append((self.command, self.path, headers, body))
                status, extra, answer = service.script.pop(0)
                if status == 0:
                    return
                self.send_response(status)
                for name, value in extra.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST  # noqa: N815 - the base class looks for this name

            def log_message(self, *args: object) -> None:
                pass

        return Handler


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    thread = threading.Thread(target=service.server.serve_forever, args=(0.01,))
    thread.start()
    yield service
    service.server.shutdown()
    thread.join()
    service.server.server_close()


@pytest.fixture
def client(service: Service) -> Iterator[WireClient]:
    client = WireClient(service.url, "s3cret")
    yield client
    client.close()


def refusal(code: str, **details: Any) -> bytes:
    return json.dumps({"error": {"code": code, "message": "no", "details": details}}).encode()


def delete(client: WireClient) -> Deleted:
    return client.mutate("memory/delete", {"scope": "user:é", "path": "a"}, Deleted)


def keys(service: Service) -> list[str | None]:
    return [headers.get("idempotency-key") for _, _, headers, _ in service.requests]


def test_a_call_is_one_post_with_the_token(service: Service, client: WireClient) -> None:
    service.script = [OK]
    assert delete(client).deleted
    method, path, headers, body = service.requests[0]
    assert (method, path) == ("POST", "/v1/memory/delete")
    assert headers["authorization"] == "Bearer s3cret"
    assert body == '{"scope":"user:é","path":"a"}'.encode()


def test_a_url_with_a_path_keeps_it(service: Service) -> None:
    service.script = [OK]
    client = WireClient(f"{service.url}/behind/proxy/", "s3cret")
    delete(client)
    client.close()
    assert service.requests[0][1] == "/behind/proxy/v1/memory/delete"


@pytest.mark.parametrize("trouble", [UNAVAILABLE, DROP], ids=["503", "dropped connection"])
def test_a_mutation_is_repeated_under_one_key(
    service: Service, client: WireClient, trouble: Scripted
) -> None:
    service.script = [trouble, trouble, OK]
    assert delete(client).deleted
    assert len(set(keys(service))) == 1
    assert len(keys(service)) == 3
    assert keys(service)[0] is not None


def test_each_mutation_has_a_key_of_its_own(service: Service, client: WireClient) -> None:
    service.script = [OK, OK]
    delete(client)
    delete(client)
    first, second = keys(service)
    assert first != second


def test_a_read_has_no_key(service: Service, client: WireClient) -> None:
    service.script = [OK]
    assert client.raw_read("memory/read", {}) == OK[2]
    assert keys(service) == [None]


def test_a_service_that_stays_away_is_given_up(service: Service, client: WireClient) -> None:
    service.script = [UNAVAILABLE] * 9
    with pytest.raises(WireTransportError, match="status 503"):
        delete(client)
    assert len(service.requests) == 5


def test_a_refusal_keeps_code_and_details(service: Service, client: WireClient) -> None:
    service.script = [(400, {}, refusal("memory_conflict", actual_version=2))]
    with pytest.raises(WireRefusalError, match=r"\[memory_conflict\] no") as caught:
        delete(client)
    assert caught.value.refusal_code == "memory_conflict"
    assert caught.value.refusal_details == {"actual_version": 2}
    assert len(service.requests) == 1


def test_a_wrong_token_is_said_without_the_token(service: Service, client: WireClient) -> None:
    service.script = [(401, {}, b"unauthorized")]
    with pytest.raises(WireTransportError, match="does not accept the token") as caught:
        delete(client)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("answer", [b"<html>", b'{"deleted":"yes"}', b"{}"])
def test_an_answer_of_another_shape_is_refused(
    service: Service, client: WireClient, answer: bytes
) -> None:
    service.script = [(200, {}, answer)]
    with pytest.raises(WireTransportError, match="memory/delete is not of wire 6"):
        delete(client)


def test_the_handshake_gives_the_capabilities(service: Service, client: WireClient) -> None:
    service.script = [(200, {}, json.dumps(CAPABILITIES).encode())]
    assert client.capabilities().client == "client:default"
    assert service.requests[0][:2] == ("GET", "/v1/capabilities")


def test_another_wire_is_refused_with_both_numbers(service: Service, client: WireClient) -> None:
    service.script = [(200, {}, json.dumps({**CAPABILITIES, "wire_version": 7}).encode())]
    with pytest.raises(WireTransportError, match="wire 7, this program wire 6"):
        client.capabilities()


def test_nothing_that_listens_is_said_at_once() -> None:
    client = WireClient(f"http://127.0.0.1:{free_port()}", "s3cret")
    with pytest.raises(WireUnreachableError, match="start it with `make run`"):
        client.capabilities()


@pytest.mark.parametrize("url", ["ftp://x", "127.0.0.1:6367", "http://", "http://x:port"])
def test_a_url_of_another_kind_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError):
        WireClient(url, "s3cret")
