"""Projections beside the turns (docs/reference/stores.md, section 5; wire.md, section 7)."""

from typing import Any

from commonhold.conformance.rules import Rule
from commonhold.conformance.wire.trials import Row, Trial

ENTRY = ["turn", "kind", "text", "span"]
MALFORMED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"kind": "log", "text": "x"}, "missing parameter: 'turn'"),
    ({"turn": 1, "text": "x"}, "missing parameter: 'kind'"),
    ({"turn": 1, "kind": "log"}, "missing parameter: 'text'"),
    ({"turn": "1", "kind": "log", "text": "x"}, "parameter 'turn' must be an integer"),
    ({"turn": 0, "kind": "log", "text": "x"}, "turn must be >= 1, got 0"),
    (
        {"turn": 1, "kind": "log", "text": "x", "span": 2},
        "span must satisfy 1 <= span <= turn, got span=2 for turn=1",
    ),
    (
        {"turn": 1, "kind": "foo", "text": "x"},
        "kind must be one of ['digest', 'epoch', 'log'], got 'foo'",
    ),
)


class ProjectionCases:
    title = "conversation"

    @staticmethod
    async def entries_come_back_by_turn_span_and_insertion(trial: Trial) -> None:
        rule = Rule("5", "entries order by turn, span and insertion, and nothing is lost")
        await _append(trial, _entry(5, "wide", span=5), _entry(5, "one"), _entry(5, "again"))
        await _append(trial, _entry(4, "earlier", kind="epoch", span=2), _entry(5, "again"))
        found = await _read(trial)
        rule.equal([entry["text"] for entry in found], ["earlier", "one", "again", "again", "wide"])
        rule.equal(list(found[0]), ENTRY)
        rule.equal(found[0], _entry(4, "earlier", kind="epoch", span=2))

    @staticmethod
    async def after_and_limit_cut_the_entries(trial: Trial) -> None:
        rule = Rule("5", "entries with turn above `after`, the first `limit`")
        await _append(trial, *(_entry(turn, str(turn)) for turn in (1, 2, 2, 3)))
        for options, expected in (
            ({"after": 1}, ["2", "2", "3"]),
            ({"limit": 2}, ["1", "2"]),
            ({"after": 3}, []),
            ({"limit": 0}, []),
            ({"after": 2**63}, []),
        ):
            texts = [entry["text"] for entry in await _read(trial, **options)]
            rule.equal((options, texts), (options, expected))

    @staticmethod
    async def an_empty_batch_creates_nothing(trial: Trial) -> None:
        rule = Rule("7", "an empty batch answers {} and creates nothing", "wire.md")
        rule.equal(await _append(trial), {})
        rule.equal(await _read(trial), [])

    @staticmethod
    async def a_malformed_entry_refuses_the_batch(trial: Trial) -> None:
        rule = Rule("7", "one bad entry refuses the batch; nothing is stored", "wire.md")
        for entry, message in MALFORMED:
            body = {"conversation_id": trial.thread, "entries": [_entry(1, "fine"), entry]}
            await trial.refused(
                "conversation/append_projections", body, code="value_error", message=message
            )
        rule.equal(await _read(trial), [])

    @staticmethod
    async def the_largest_turn_number_may_be_projected(trial: Trial) -> None:
        rule = Rule("4", "a projection's turn reaches 2147483647 and no further", "wire.md")
        await _append(trial, _entry(2**31 - 1, "last"))
        for turn in (2**31, 2**63, 2**100):
            body = {"conversation_id": trial.thread, "entries": [_entry(turn, "beyond")]}
            answer = await trial.post("conversation/append_projections", body)
            rule.equal((answer.status, answer.decoded()["error"]["code"]), (400, "value_error"))
        rule.equal([entry["text"] for entry in await _read(trial)], ["last"])

    @staticmethod
    async def a_turn_never_written_may_be_projected(trial: Trial) -> None:
        rule = Rule("5", "the store never checks that a projected turn exists")
        await _append(trial, _entry(9, "ahead"))
        rule.equal((await trial.append("x"))[0]["turn"], 1)
        rule.equal([entry["text"] for entry in await _read(trial)], ["ahead"])


def _entry(turn: int, text: str, *, kind: str = "log", span: int = 1) -> Row:
    return {"turn": turn, "kind": kind, "text": text, "span": span}


async def _append(trial: Trial, *entries: Row) -> Row:
    return await trial.ok(
        "conversation/append_projections", conversation_id=trial.thread, entries=list(entries)
    )


async def _read(trial: Trial, **options: int) -> list[Row]:
    answer = await trial.ok(
        "conversation/read_projections", conversation_id=trial.thread, **options
    )
    entries: list[Row] = answer["entries"]
    return entries
