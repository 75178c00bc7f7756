"""One key sent to both replicas at one moment has one effect and one answer."""

from typing import Any

import msgspec
import pytest

from tests.races.conftest import Scaled, Summarise
from tests.support.histories.erasures import secret_of
from tests.support.histories.idempotency import check_keys
from tests.support.histories.records import Answered, Attempt, Refused, Unknown
from tests.support.load.crews import Crew, Task
from tests.support.load.programs import Entry, turn_of
from tests.support.load.stands import Stand, judge, run_apart
from tests.support.load.trials import LANES

KINDS = ("write", "expect", "delete", "rename", "append")


def pair_tasks(kind: str, count: int) -> list[Task]:
    """In each lane two clients repeat the same requests, each at a replica of its own."""
    entries: list[list[Entry]] = [[] for _ in range(2 * LANES)]
    for number in range(count):
        seat, meeting = (number % LANES) * 2, number // LANES + 1
        name = f"twin{kind}{number}"
        entries[seat] += preparation(kind, name)
        for racer in (0, 1):
            route, request = act(kind, name)
            entries[seat + racer].append(
                Entry(
                    route=route,
                    request=request,
                    name=name,
                    key=name,
                    replica=racer,
                    meeting=meeting,
                )
            )
    return [
        Task(
            name=f"twin{seat}",
            program="timetable",
            arguments={
                "entries": msgspec.to_builtins(share),
                "seat": seat,
                "table": (seat - seat % 2, seat - seat % 2 + 2),
            },
        )
        for seat, share in enumerate(entries)
    ]


def scope_of(name: str) -> str:
    return f"race:{name}"


def preparation(kind: str, name: str) -> list[Entry]:
    if kind in {"write", "append"}:
        return []
    request = {"scope": scope_of(name), "path": "a", "content": "before"}
    return [Entry(route="memory/write", request=request, name=f"{name}p")]


def act(kind: str, name: str) -> tuple[str, dict[str, Any]]:
    at_path = {"scope": scope_of(name), "path": "a"}
    match kind:
        case "write":
            return "memory/write", {**at_path, "content": secret_of(name)}
        case "expect":
            return "memory/write", {**at_path, "content": secret_of(name), "expected_version": 1}
        case "delete":
            return "memory/delete", at_path
        case "rename":
            return "memory/rename", {"scope": scope_of(name), "src": "a", "dst": "b"}
    return "conversation/append_turn", turn_of(name, name)


@pytest.mark.parametrize("kind", KINDS)
def test_one_key_at_both_replicas_has_one_effect(
    crew: Crew, stand: Stand, scaled: Scaled, summarise: Summarise, kind: str
) -> None:
    count = scaled(60)
    attempts = crew.run(stand.ports, pair_tasks(kind, count))
    names = [f"twin{kind}{number}" for number in range(count)]
    scopes = stand.scopes(scope_of(name) for name in names) if kind != "append" else []
    conversations = stand.conversations(names) if kind == "append" else []
    summarise(attempts, pairs=count)
    assert [one for one in attempts if isinstance(one.outcome, Unknown | Refused)] == []
    assert check_keys(attempts) == []
    assert judge(attempts, scopes=scopes, conversations=conversations) == []


def test_a_replay_shows_the_version_it_made_and_nothing_after_an_erasure(stand: Stand) -> None:
    first, second, third = run_apart(write_and_replay(stand))
    assert second["document"] == first["document"]
    assert third["document"] == {**first["document"], "content": "", "redacted": True}


async def write_and_replay(stand: Stand) -> list[dict[str, Any]]:
    """Replay a write after another one, then again after an erasure, each at the other replica."""
    client = stand.client("replayed")
    at_path = {"scope": "race:replayed", "path": "a"}
    request = {**at_path, "content": secret_of("once")}
    answers = [answer_of(await client.call("memory/write", request, name="once", key="once"))]
    await client.insist("memory/write", {**at_path, "content": "another"})
    client.prefer(1)
    answers.append(answer_of(await client.call("memory/write", request, name="once", key="once")))
    await client.insist("memory/redact", {"scope": "race:replayed"})
    client.prefer(0)
    answers.append(answer_of(await client.call("memory/write", request, name="once", key="once")))
    client.close()
    return answers


def answer_of(attempt: Attempt) -> dict[str, Any]:
    assert isinstance(attempt.outcome, Answered)
    return attempt.outcome.answer
