"""The program of `helm test` and `make smoke`: what it does, and that it notices what is wrong."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.helm import CHART

PROGRAM = CHART / "files/smoke.py"
TOKEN = "s3cret"
SECONDS = 60

MOUNTED = {"user": "user:me", "mine": "user:ana"}

Doors = dict[str, Callable[["Deployment", Any], Any]]


class Deployment:
    """Both services and an operations listener over one dictionary, as far as the program asks."""

    def __init__(self) -> None:
        self.documents: dict[tuple[str, str], dict[str, Any]] = {}
        self.ready = True
        self.doors: Doors = {
            "/v1/memory/write": Deployment.write,
            "/v1/memory/read": Deployment.read,
            "/v1/memory/redact": Deployment.redact,
            "/mcp": Deployment.call,
        }

    def write(self, body: Any) -> Any:
        document = {"content": body["content"], "redacted": False}
        self.documents[body["scope"], body["path"]] = document
        return {"document": document}

    def read(self, body: Any) -> Any:
        return {"document": self.documents[body["scope"], body["path"]]}

    def redact(self, body: Any) -> Any:
        self.documents[body["scope"], body["path"]] = {"content": "", "redacted": True}
        return {"count": 1}

    def call(self, body: Any) -> Any:
        arguments = body["params"]["arguments"]
        _, mount, path = arguments["path"].split("/", 2)
        at = (MOUNTED[mount], path)
        if arguments["command"] == "create":
            self.documents[at] = {"content": arguments["file_text"], "redacted": False}
        text = self.documents[at]["content"]
        return {"result": {"content": [{"type": "text", "text": text}], "isError": False}}


class Handler(BaseHTTPRequestHandler):
    deployment: Deployment

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers["authorization"] != f"Bearer {TOKEN}":
            self._answer(401, b"")
        else:
            answer = self.deployment.doors[self.path](self.deployment, body)
            self._answer(200, json.dumps(answer).encode())

    def do_GET(self) -> None:
        self._answer(200 if self.deployment.ready else 503, b"")

    def log_message(self, *arguments: object) -> None:
        pass

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def deployment() -> Deployment:
    return Deployment()


@pytest.fixture
def address(deployment: Deployment) -> Iterator[str]:
    handler = type("Handling", (Handler,), {"deployment": deployment})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def smoke(address: str, tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    def run(*, token: str = TOKEN, **more: str) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "token").write_text(token)
        addresses = {"STATE": address, "GATEWAY": address, "OPS": address}
        settings = {"SCOPE": "smoke:test", "MOUNT": "user user:me", **addresses, **more}
        return subprocess.run(
            [sys.executable, "-c", PROGRAM.read_text()],
            env={
                "PATH": os.environ["PATH"],
                "TOKEN_FILE": str(tmp_path / "token"),
                **{name: value for name, value in settings.items() if value},
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    return run


def test_it_says_what_it_did_and_leaves_nothing_to_read(
    smoke: Callable[..., Any], deployment: Deployment, address: str
) -> None:
    done = smoke()
    assert (done.returncode, done.stderr) == (0, "")
    (first, path), (second, again) = deployment.documents
    assert done.stdout.splitlines() == [
        f"ok: {address} is ready",
        "ok: the state service reads what it wrote",
        f"ok: {first} {path} is redacted",
        "ok: the gateway reads what it wrote",
        f"ok: {second} {again} is redacted",
    ]
    assert {document["content"] for document in deployment.documents.values()} == {""}


def test_of_a_token_table_it_takes_a_client_that_is_held_to_nothing(
    smoke: Callable[..., Any],
) -> None:
    assert smoke(token=f"client:ana@user:ana=other,client:ops={TOKEN}").returncode == 0


def test_without_a_mount_the_gateway_is_left_alone(
    smoke: Callable[..., Any], deployment: Deployment
) -> None:
    done = smoke(MOUNT="")
    assert done.returncode == 0
    assert "not written through" in done.stdout
    assert len(deployment.documents) == 1


def test_of_the_setting_of_a_gateway_it_takes_the_first_mount_that_may_be_written(
    smoke: Callable[..., Any], deployment: Deployment
) -> None:
    fixed = "scope=kb:a,path=kb,ro;path=board,scope=task:7,eo"
    assert smoke(MOUNT="", MOUNTS=f"{fixed};path=mine,scope=user:ana").returncode == 0
    assert [scope for scope, _path in deployment.documents] == ["smoke:test", "user:ana"]
    assert "not written through" in smoke(MOUNT="", MOUNTS=fixed).stdout


@pytest.mark.parametrize(
    ("door", "answer", "claim"),
    [
        (
            "/v1/memory/read",
            {"document": {"content": "other", "redacted": False}},
            "FAILED: the state service reads what it wrote",
        ),
        ("/v1/memory/redact", {"count": 0}, "is redacted"),
        (
            "/mcp",
            {"result": {"content": [{"type": "text", "text": "no"}], "isError": True}},
            "the memory tool refused create",
        ),
        (
            "/mcp",
            {"result": {"content": [{"type": "text", "text": "no"}], "isError": False}},
            "FAILED: the gateway reads what it wrote",
        ),
    ],
)
def test_a_planted_fault_fails_it(
    smoke: Callable[..., Any], deployment: Deployment, door: str, answer: Any, claim: str
) -> None:
    deployment.doors[door] = lambda _deployment, _body: answer
    done = smoke()
    assert done.returncode == 1
    assert claim in done.stderr


def test_a_listener_that_is_not_ready_fails_it(
    smoke: Callable[..., Any], deployment: Deployment
) -> None:
    deployment.ready = False
    done = smoke()
    assert done.returncode == 1
    assert done.stderr.strip().endswith("is ready")


def test_a_refused_token_is_told_with_the_address(smoke: Callable[..., Any], address: str) -> None:
    done = smoke(token="guess")
    assert done.returncode == 1
    assert done.stderr.startswith(f"{address}/v1/memory/write answered 401")
