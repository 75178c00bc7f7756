"""A client of wire 6 in the standard library: what docs/howto/write-a-client.md explains.

Run it against a service: NEOSIAN_CLIENT_TOKEN=... python3 wire_client.py http://127.0.0.1:6367
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any

WIRE_VERSION = 6
ATTEMPTS = 5
TIMEOUT_SECONDS = 30.0

MUTATIONS = frozenset(
    {
        "memory/write",
        "memory/delete",
        "memory/rename",
        "memory/redact",
        "conversation/append_turn",
        "conversation/append_projections",
        "conversation/redact_turns",
        "store/restore_scope",
        "store/restore_conversation",
    }
)


class WireError(Exception):
    """A typed refusal: decide by `code` and `details`, show `message`."""

    def __init__(self, code: str, message: str, details: dict[str, Any]) -> None:
        super().__init__(f"[{code}] {message}")
        self.code = code
        self.details = details


class WireClient:
    """Calls of one service under one token."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._token = token
        capabilities, headers = self._once("GET", "capabilities", None, {})
        if capabilities["wire_version"] != WIRE_VERSION:
            raise RuntimeError(f"wire {capabilities['wire_version']} is not wire {WIRE_VERSION}")
        self._keeps_keys = headers.get("Commonhold-Idempotency") == "1"

    def call(self, route: str, **parameters: Any) -> Any:
        """One act, repeated while the service cannot serve and a repetition is safe."""
        headers = {}
        if route in MUTATIONS and self._keeps_keys:
            # One key for all attempts: whichever of them took effect, it did so once.
            headers["Idempotency-Key"] = str(uuid.uuid4())
        repeatable = route not in MUTATIONS or bool(headers)
        for attempt in range(ATTEMPTS):
            try:
                answer, _headers = self._once("POST", route, parameters, headers)
            except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
                pause = _pause_seconds(error)
                if pause is None or not repeatable or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(pause)
            else:
                return answer
        raise AssertionError("unreachable: the last attempt returns or raises")

    def pages(self, route: str, *, rows: str, **parameters: Any) -> Iterator[Any]:
        """Every row of a memory listing, page after page."""
        cursor = None
        while True:
            page = self.call(route, **parameters, cursor=cursor)
            yield from page[rows]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _once(
        self, method: str, route: str, body: dict[str, Any] | None, headers: dict[str, str]
    ) -> tuple[Any, Any]:
        request = urllib.request.Request(  # noqa: S310 - the operator names the URL
            f"{self._url}/v1/{route}",
            method=method,
            data=None if body is None else json.dumps(body, ensure_ascii=False).encode(),
            headers={"Authorization": f"Bearer {self._token}", **headers},
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - as above
                return json.load(answer), answer.headers
        except urllib.error.HTTPError as error:
            if error.code not in {400, 403, 413}:
                raise
            refusal = json.load(error)["error"]
            raise WireError(refusal["code"], refusal["message"], refusal["details"]) from None


def _pause_seconds(error: Exception) -> float | None:
    """How long to wait before the next attempt; None when it would not help."""
    if not isinstance(error, urllib.error.HTTPError):
        return 1.0
    if error.code != 503:
        return None
    return float(error.headers.get("Retry-After", "1"))


def main(url: str, token: str) -> None:
    client = WireClient(url, token)
    scope = f"example:{uuid.uuid4()}"
    conversation = f"example-{uuid.uuid4()}"

    first = client.call("memory/write", scope=scope, path="notes/kettle", content="on\n")
    version = first["document"]["version"]
    client.call(
        "memory/write", scope=scope, path="notes/kettle", content="off\n", expected_version=version
    )
    try:
        client.call(
            "memory/write",
            scope=scope,
            path="notes/kettle",
            content="hot\n",
            expected_version=version,
        )
    except WireError as refusal:
        print(f"refused: {refusal}; the live version is {refusal.details['actual_version']}")

    for row in client.pages("memory/history", rows="versions", scope=scope, limit=1):
        print(f"v{row['version']} {row['action']} by {row['actor']}: {row['content']!r}")

    message = {"role": "user", "content": "Is the kettle on?"}
    turn = client.call("conversation/append_turn", conversation_id=conversation, messages=[message])
    found = client.call("conversation/search_turns", query="KETTLE", conversations=[conversation])
    print(f"turn {turn['turn']['turn']} recorded, {len(found['turns'])} found")

    paths = client.call("memory/redact", scope=scope)["count"]
    turns = client.call("conversation/redact_turns", conversation_id=conversation)["count"]
    left = client.call("memory/read", scope=scope, path="notes/kettle")["document"]
    print(f"erased {paths} path and {turns} turn; what is left: {left['content']!r}")


if __name__ == "__main__":
    main(sys.argv[1], os.environ["NEOSIAN_CLIENT_TOKEN"])
