"""Fires fuzzed requests over pipelined connections and judges what comes back."""

import asyncio
import json
from collections import Counter

from commonhold_state.errors import STATUS
from tests.support.goldens.expectations import decoded
from tests.support.raw_http import Answer, RawConnection, request_bytes
from tests.support.wire_fuzz import Shot, shots
from tests.support.wire_service import TOKEN, Wire

PIPELINED = 16
CONNECTIONS = 4
# After so many requests a connection is closed and a new one opened.
VOLLEY = 800


async def bombard(wire: Wire, *, seed: int, count: int) -> Counter[int]:
    """Fire so many requests; how many were answered with each status.

    Fails, naming seed and request, on a status other than 200 and 400, on an answer that
    is not the wire's, and on a connection that was closed or left with bytes unread.
    """
    statuses: Counter[int] = Counter()
    volleys = [
        (seed + index, min(VOLLEY, count - index * VOLLEY)) for index in range(-(-count // VOLLEY))
    ]
    pending = iter(volleys)

    async def work() -> None:
        for volley_seed, size in pending:
            statuses.update(await _volley(wire, seed=volley_seed, count=size))

    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(work())
    return statuses


async def assert_all_readable(wire: Wire) -> None:
    """Whatever was stored can be listed and read back, by every route that would."""
    for scope in decoded(await wire.post("store/scopes", "{}"))["scopes"]:
        for route in ("list_documents", "history", "redactions"):
            decoded(await wire.post(f"memory/{route}", {"scope": scope}))
    for name in decoded(await wire.post("store/conversations", "{}"))["conversations"]:
        for route in ("read_turns", "read_projections", "last_turn_number"):
            decoded(await wire.post(f"conversation/{route}", {"conversation_id": name}))
    decoded(await wire.post("conversation/search_turns", {"query": "word", "limit": 500}))
    decoded(await wire.post("conversation/turn_redactions", {"limit": 500}))


async def _volley(wire: Wire, *, seed: int, count: int) -> Counter[int]:
    statuses: Counter[int] = Counter()
    fired = list(shots(seed, count))
    async with await wire.connect() as connection:
        for start in range(0, len(fired), PIPELINED):
            batch = fired[start : start + PIPELINED]
            await connection.send(b"".join(_request(shot) for shot in batch))
            for offset, shot in enumerate(batch):
                answer = await _read(connection, seed, start + offset, shot)
                statuses[answer.status] += 1
        connection.send_end()
        assert await connection.read_to_end() == b"", f"seed {seed}: bytes left unread"
    return statuses


async def _read(connection: RawConnection, seed: int, index: int, shot: Shot) -> Answer:
    what = f"seed {seed}, request {index}: {shot.route} {shot.body[:500]!r}"
    try:
        answer = await connection.read_answer()
    except (asyncio.IncompleteReadError, ConnectionError) as lost:
        raise AssertionError(f"connection closed at {what}") from lost
    assert answer.status in {200, 400}, f"{answer.status} at {what}"
    assert answer.header("connection") is None, what
    body = json.loads(answer.body)
    if answer.status == 400:
        error = body["error"]
        assert set(error) == {"code", "message", "details"}, what
        assert STATUS[error["code"]] == 400, what
        assert isinstance(error["details"], dict), what
    return answer


def _request(shot: Shot) -> bytes:
    headers = {"authorization": f"Bearer {TOKEN}"}
    if shot.key is not None:
        headers["idempotency-key"] = shot.key
    return request_bytes("POST", f"/v1/{shot.route}", headers=headers, body=shot.body)
