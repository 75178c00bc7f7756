"""Whole units in (docs/reference/wire.md, section 8; stores.md, section 9)."""

from collections.abc import Mapping
from typing import Any

from commonhold.conformance.rules import Rule
from commonhold.conformance.wire.services import OK
from commonhold.conformance.wire.trials import Row, Trial

AT = "2026-01-01T12:00:00.123456Z"
LATER = "2026-01-02T12:00:00Z"
EAST = "2026-01-02T17:30:00+05:30"
# The keys that a row must have.
SCOPE_ROWS = {
    "documents": (
        *("scope", "path", "content", "version"),
        *("created_at", "updated_at", "actor", "redacted"),
    ),
    "versions": ("path", "version", "action", "content", "actor", "created_at", "redacted"),
    "redactions": ("path", "actor", "created_at", "count"),
}
CONVERSATION_ROWS = {
    "turns": ("conversation_id", "turn", "messages", "created_at"),
    "redactions": ("created_at",),
}
NO_ROWS: dict[str, list[Row]] = {"documents": [], "versions": [], "redactions": []}


class UnitCases:
    title = "units"

    @staticmethod
    async def a_scope_lands_verbatim(trial: Trial) -> None:
        rule = Rule("9", "rows land verbatim: numbers, stamps, actors, extra")
        archive = _scope_archive(trial)
        await _restore(trial, "restore_scope", archive)
        document = archive["documents"][0]
        rule.equal(await trial.read("a"), {**document, "scope": trial.scope, "updated_at": LATER})
        rule.equal(repr((await trial.read("a"))["extra"]), repr(document["extra"]))
        rows = sorted(await trial.history(), key=lambda row: (row["path"], row["version"]))
        rule.equal(rows, archive["versions"])
        acts = (await trial.ok("memory/redactions", scope=trial.scope))["redactions"]
        rule.equal(acts, archive["redactions"][::-1])

    @staticmethod
    async def writes_continue_from_the_highest_number(trial: Trial) -> None:
        rule = Rule("9", "writes continue from the highest of the rows and the document")
        await _restore(trial, "restore_scope", _scope_archive(trial))
        rule.equal((await trial.write("a", "next"))["version"], 8)
        rule.equal((await trial.write("gone", "again"))["version"], 3)

    @staticmethod
    async def a_conversation_lands_verbatim(trial: Trial) -> None:
        rule = Rule("9", "turns keep numbers, stamps, actors and messages; text is searchable")
        archive = _conversation_archive(trial)
        await _restore(trial, "restore_conversation", archive)
        name = {"conversation_id": trial.thread}
        turns = await trial.turns()
        rule.equal([(turn["turn"], turn["redacted"]) for turn in turns], [(2, False), (5, True)])
        stamps = [(turn["created_at"], turn["actor"]) for turn in turns]
        rule.equal(stamps, [(AT, "conv:x"), (LATER, None)])
        entries = (await trial.ok("conversation/read_projections", **name))["entries"]
        rule.equal(entries, archive["projections"])
        found = await trial.ok(
            "conversation/search_turns", query="zog", conversations=[trial.thread]
        )
        rule.equal([turn["turn"] for turn in found["turns"]], [2])
        rule.equal((await trial.append("next"))[0]["turn"], 6)

    @staticmethod
    async def an_occupied_target_is_refused(trial: Trial) -> None:
        rule = Rule("9", "a target that holds anything is target_occupied, for an empty one too")
        await _restore(trial, "restore_scope", _scope_archive(trial))
        await trial.append("mine")
        for archive in (_scope_archive(trial), {"scope": trial.scope, **NO_ROWS}):
            await trial.refused(
                "store/restore_scope",
                archive,
                code="memory_conflict",
                details={
                    "scope": trial.scope,
                    "path": None,
                    "reason": "target_occupied",
                    "expected_version": None,
                    "actual_version": None,
                },
            )
        await trial.refused(
            "store/restore_conversation",
            _conversation_archive(trial),
            code="agent_conversation_conflict",
            details={"conversation_id": trial.thread, "reason": "target_occupied"},
        )
        rule.equal(len(await trial.turns()), 1)

    @staticmethod
    async def a_bad_row_of_a_scope_is_refused_whole(trial: Trial) -> None:
        rule = Rule("8", "nested rows are typed as strictly as the top level", "wire.md")
        whole = _scope_archive(trial)
        await _require_portable(trial)
        document, version = whole["documents"][0], whole["versions"][0]
        for key, rows in (
            ("documents", [{**document, "version": "7"}]),
            ("documents", [{**document, "version": 0}]),
            ("documents", [{**document, "version": 2**31}]),
            ("documents", [{**document, "extra": []}]),
            ("documents", [{**document, "extra": {"version": 7}}]),
            ("documents", [{**document, "redacted": "no"}]),
            ("documents", [document, document]),
            ("documents", [{**document, "created_at": "2026-01-01"}]),
            ("versions", [{**version, "action": "erased"}]),
            ("versions", [{**version, "redacted": True}]),
            ("versions", [version, version]),
            ("redactions", [{**whole["redactions"][0], "count": -1}]),
        ):
            answer = await trial.post("store/restore_scope", {**whole, key: rows})
            seen = (answer.status, answer.decoded().get("error", {}).get("code"))
            rule.equal((key, rows, *seen), (key, rows, 400, "value_error"))
        bad_path = {**whole, "versions": [{**version, "path": "a//b"}]}
        answer = await trial.post("store/restore_scope", bad_path)
        rule.equal(answer.decoded()["error"]["code"], "memory_path_invalid")
        rule.equal(await trial.history(), [])

    @staticmethod
    async def a_bad_row_of_a_conversation_is_refused_whole(trial: Trial) -> None:
        rule = Rule("8", "nested rows are typed as strictly as the top level", "wire.md")
        whole = _conversation_archive(trial)
        await _require_portable(trial)
        turn = whole["turns"][0]
        for key, rows in (
            ("turns", [{**turn, "messages": []}]),
            ("turns", [{**turn, "redacted": True}]),
            ("turns", [{**turn, "turn": 0}]),
            ("turns", [turn, turn]),
            ("projections", [{"turn": 1, "kind": "rumour", "text": "x"}]),
            ("redactions", [{**whole["redactions"][0], "turns": []}]),
        ):
            answer = await trial.post("store/restore_conversation", {**whole, key: rows})
            seen = (answer.status, answer.decoded().get("error", {}).get("code"))
            rule.equal((key, rows, *seen), (key, rows, 400, "value_error"))
        rule.equal(await trial.turns(), [])

    @staticmethod
    async def a_row_without_a_key_is_refused_by_its_name(trial: Trial) -> None:
        Rule("8", "the first key that a row lacks is named, in decode order", "wire.md")
        await _require_portable(trial)
        for route, whole, required in (
            ("store/restore_scope", _scope_archive(trial), SCOPE_ROWS),
            ("store/restore_conversation", _conversation_archive(trial), CONVERSATION_ROWS),
        ):
            for kind, keys in required.items():
                row = whole[kind][0]
                for key in keys:
                    lacking = {name: value for name, value in row.items() if name != key}
                    await trial.refused(
                        route,
                        {**whole, kind: [lacking]},
                        code="value_error",
                        message=f"malformed request: {key!r}",
                    )

    @staticmethod
    async def units_are_listed_in_order(trial: Trial) -> None:
        rule = Rule("9", "scopes and conversations that hold anything, by code point")
        await _require_portable(trial)
        await trial.write("a", "x")
        await trial.append("x")
        for route, name in (("scopes", trial.scope), ("conversations", trial.thread)):
            listed = (await trial.ok(f"store/{route}"))[route]
            rule.holds(name in listed, f"{name} is not listed")
            rule.holds(listed == sorted(listed), f"the {route} are not sorted")


async def _require_portable(trial: Trial) -> None:
    """Ask for nothing: an archive of no rows restores and creates nothing."""
    archive = {"scope": trial.another_scope(), **NO_ROWS}
    answer = await trial.post("store/restore_scope", archive)
    if answer.status != OK:
        await trial.lacks("takes no whole units", "store/restore_scope", **archive)


async def _restore(trial: Trial, route: str, archive: Mapping[str, Any]) -> None:
    await _require_portable(trial)
    rule = Rule("8", "a restore answers {}", "wire.md")
    rule.equal(await trial.ok(f"store/{route}", **archive), {})


def _version(path: str, number: int, action: str, stamp: str) -> Row:
    return {
        "path": path,
        "version": number,
        "action": action,
        "content": "x",
        "actor": "op:import",
        "created_at": stamp,
        "redacted": False,
    }


def _scope_archive(trial: Trial) -> Row:
    return {
        "scope": trial.scope,
        "documents": [
            {
                "scope": "its:own",
                "path": "a",
                "content": "two\r\n",
                "version": 7,
                "created_at": AT,
                "updated_at": EAST,
                "actor": None,
                "redacted": False,
                "extra": {"z": {"y": 1, "bb": [2.5, None, True]}, "a": 3},
            }
        ],
        "versions": [
            _version("a", 3, "modified", AT),
            _version("gone", 1, "created", AT),
            _version("gone", 2, "deleted", LATER),
        ],
        "redactions": [
            {"path": "gone", "actor": "op:x", "created_at": AT, "count": 1},
            {"path": None, "actor": None, "created_at": AT, "count": 2},
        ],
    }


def _conversation_archive(trial: Trial) -> Row:
    def turn(number: int, stamp: str, **options: Any) -> Row:
        return {
            "conversation_id": "its-own",
            "turn": number,
            "messages": [{"role": "user", "content": "hello Zog"}],
            "created_at": stamp,
            **options,
        }

    return {
        "conversation_id": trial.thread,
        "turns": [turn(2, AT, actor="conv:x"), turn(5, EAST, messages=[], redacted=True)],
        "projections": [
            {"turn": 2, "kind": "log", "text": "first", "span": 1},
            {"turn": 2, "kind": "log", "text": "second", "span": 1},
        ],
        "redactions": [
            {"conversation_id": "x", "turns": [5], "actor": "op:x", "created_at": LATER}
        ],
    }
