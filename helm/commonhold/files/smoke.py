"""Writes and reads through both services and redacts what it wrote: the pod of `helm test`, and
`make smoke`. OPS names operations listeners, joined by commas, that must say that they are ready.
MOUNT is a mount to write through, its path and its scope; MOUNTS is the gateway's setting, of which
the first is taken that may be written.
"""

import http.client
import json
import os
import pathlib
import time
import uuid
from typing import Any

REVISION = "2026-07-28"
PATIENCE_SECONDS = 30
META = "io.modelcontextprotocol/"


def find_token(text: str) -> str:
    """Return the token of the first client that is held to nothing, else of the first."""
    if "=" not in text:
        return text
    entries = [entry.split("=", 1) for entry in text.split(",")]
    free = [token for client, token in entries if not {"@", "+"} & set(client)]
    return free[0] if free else entries[0][1]


def find_mount(setting: str) -> str:
    """Return path and scope of the first mount in which a document may be made, or nothing."""
    for mount in filter(None, setting.split(";")):
        fields = dict(part.split("=", 1) for part in mount.split(",") if "=" in part)
        if not {"ro", "eo"} & set(mount.split(",")):
            return f"{fields['path']} {fields['scope']}"
    return ""


TOKEN = find_token(pathlib.Path(os.environ["TOKEN_FILE"]).read_text().removesuffix("\n"))
SCOPE = os.environ["SCOPE"]
MARK = uuid.uuid4().hex


def connect(address: str) -> http.client.HTTPConnection:
    """Connect, again for a while: some clusters need seconds to let a new pod through a policy."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        connection = http.client.HTTPConnection(address, timeout=30)
        try:
            connection.connect()
        except OSError as error:
            if time.monotonic() > deadline:
                raise SystemExit(f"cannot connect to {address}: {error}") from error
            time.sleep(1)
        else:
            return connection


def post(address: str, path: str, body: Any, headers: dict[str, str]) -> bytes:
    connection = connect(address)
    connection.request(
        "POST", path, json.dumps(body), {"Authorization": f"Bearer {TOKEN}", **headers}
    )
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    if response.status != http.HTTPStatus.OK:
        raise SystemExit(f"{address}{path} answered {response.status}: {answer[:500]!r}")
    return answer


def state(route: str, **parameters: Any) -> Any:
    answer = post(os.environ["STATE"], f"/v1/memory/{route}", parameters, {})
    return json.loads(answer) if answer else None


def tool(**arguments: Any) -> str:
    meta = {
        f"{META}protocolVersion": REVISION,
        f"{META}clientInfo": {"name": "commonhold-smoke", "version": "0"},
        f"{META}clientCapabilities": {},
    }
    call = {"name": "memory", "arguments": arguments, "_meta": meta}
    answer = post(
        os.environ["GATEWAY"],
        "/mcp",
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": REVISION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": "memory",
        },
    )
    events = [line[5:] for line in answer.splitlines() if line.startswith(b"data:")]
    reply = json.loads(events[-1] if events else answer)
    if "error" in reply or reply["result"].get("isError"):
        raise SystemExit(f"the memory tool refused {arguments['command']}: {reply}")
    return str(reply["result"]["content"][0]["text"])


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - its log is the result


def check(claim: str, *, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"FAILED: {claim}")
    say(f"ok: {claim}")


def erase(scope: str, path: str) -> None:
    state("redact", scope=scope, path=path, actor="smoke")
    document = state("read", scope=scope, path=path)["document"]
    check(f"{scope} {path} is redacted", holds=document["content"] == "" and document["redacted"])


for address in filter(None, os.environ.get("OPS", "").split(",")):
    connection = connect(address)
    connection.request("GET", "/readyz")
    check(f"{address} is ready", holds=connection.getresponse().status == http.HTTPStatus.OK)
    connection.close()

if "STATE" in os.environ:
    path = f"smoke/{MARK}.md"
    state("write", scope=SCOPE, path=path, content=MARK, actor="smoke", expected_version=None)
    found = state("read", scope=SCOPE, path=path)["document"]
    check("the state service reads what it wrote", holds=found["content"] == MARK)
    erase(SCOPE, path)

writable = os.environ.get("MOUNT") or find_mount(os.environ.get("MOUNTS", ""))
if writable:
    mount, scope = writable.split(" ")
    path = f"smoke/{MARK}.md"
    tool(command="create", path=f"/{mount}/{path}", file_text=MARK)
    check(
        "the gateway reads what it wrote",
        holds=MARK in tool(command="view", path=f"/{mount}/{path}"),
    )
    if "STATE" in os.environ:
        erase(scope, path)
elif "GATEWAY" in os.environ:
    say("the gateway has no writable mount for every client: not written through")
