"""What a body must be (docs/reference/wire.md, section 4)."""

import json
from typing import Any

from commonhold.conformance.rules import Rule
from commonhold.conformance.wire.trials import Trial, checked_success

TEXT, INTEGER = "a string", "an integer"
OBJECTS, TEXTS, INTEGERS = "a list of objects", "a list of strings", "a list of integers"
# Parameters in typing order: the name, its type, whether it is required.
PARAMETERS: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "memory/read": (("scope", TEXT, True), ("path", TEXT, True)),
    "memory/write": (
        ("scope", TEXT, True),
        ("path", TEXT, True),
        ("content", TEXT, True),
        ("actor", TEXT, False),
        ("expected_version", INTEGER, False),
    ),
    "memory/delete": (("scope", TEXT, True), ("path", TEXT, True), ("actor", TEXT, False)),
    "memory/rename": (
        ("scope", TEXT, True),
        ("src", TEXT, True),
        ("dst", TEXT, True),
        ("actor", TEXT, False),
    ),
    "memory/list_documents": (
        ("scope", TEXT, True),
        ("prefix", TEXT, False),
        ("cursor", TEXT, False),
        ("limit", INTEGER, False),
    ),
    "memory/versions": (
        ("scope", TEXT, True),
        ("path", TEXT, True),
        ("cursor", TEXT, False),
        ("limit", INTEGER, False),
    ),
    "memory/redact": (("scope", TEXT, True), ("path", TEXT, False), ("actor", TEXT, False)),
    "memory/history": (
        ("scope", TEXT, True),
        ("since", TEXT, False),
        ("cursor", TEXT, False),
        ("limit", INTEGER, False),
    ),
    "memory/redactions": (
        ("scope", TEXT, True),
        ("since", TEXT, False),
        ("cursor", TEXT, False),
        ("limit", INTEGER, False),
    ),
    "conversation/append_turn": (
        ("conversation_id", TEXT, True),
        ("messages", OBJECTS, True),
        ("actor", TEXT, False),
    ),
    "conversation/read_turns": (
        ("conversation_id", TEXT, True),
        ("after", INTEGER, False),
        ("limit", INTEGER, False),
    ),
    "conversation/last_turn_number": (("conversation_id", TEXT, True),),
    "conversation/search_turns": (
        ("limit", INTEGER, False),
        ("query", TEXT, True),
        ("conversations", TEXTS, False),
    ),
    "conversation/append_projections": (
        ("conversation_id", TEXT, True),
        ("entries", OBJECTS, True),
    ),
    "conversation/read_projections": (
        ("conversation_id", TEXT, True),
        ("after", INTEGER, False),
        ("limit", INTEGER, False),
    ),
}
WRONG: dict[str, tuple[Any, ...]] = {
    TEXT: (5, True, [], {}),
    INTEGER: ("5", True, 3.0, []),
    OBJECTS: ("x", {}, [1], [None]),
    TEXTS: ("x", {}, [1], [None]),
    INTEGERS: (1, "x", ["1"], [True]),
}
NOTHING = {"document": None}
UNSTORABLE = {"U+0000": rb"a\u0000b", "a lone surrogate": rb"a\ud800b"}


class BodyCases:
    title = "bodies"

    @staticmethod
    async def what_is_not_json_is_refused(trial: Trial) -> None:
        Rule("4", "invalid JSON, an empty body or bad UTF-8 is refused", "wire.md")
        for body in (b"", b"{", b"{} x", b'{"scope":NaN}', b'{"scope":"\xff"}', b"[" * 100_000):
            await trial.refused(
                "memory/read", body, code="value_error", message="request body must be JSON"
            )

    @staticmethod
    async def what_is_no_object_is_refused(trial: Trial) -> None:
        Rule("4", "a body is an object", "wire.md")
        for body in (b"[]", b'"x"', b"5", b"null", b"true"):
            await trial.refused(
                "memory/read", body, code="value_error", message="request body must be an object"
            )

    @staticmethod
    async def a_byte_order_mark_is_passed_over(trial: Trial) -> None:
        rule = Rule("4", "UTF-8, a byte order mark tolerated", "wire.md")
        body = json.dumps({"scope": trial.scope, "path": "a"}).encode("utf-8-sig")
        rule.equal(checked_success("memory/read", await trial.post("memory/read", body)), NOTHING)

    @staticmethod
    async def a_missing_parameter_is_named(trial: Trial) -> None:
        Rule("4", "a required parameter that is absent or null is named", "wire.md")
        for route, parameters in PARAMETERS.items():
            for name, _type, required in parameters:
                if not required:
                    continue
                whole = _body(route, trial)
                for body in (
                    {key: value for key, value in whole.items() if key != name},
                    {**whole, name: None},
                ):
                    await trial.refused(
                        route, body, code="value_error", message=f"missing parameter: {name!r}"
                    )

    @staticmethod
    async def a_mistyped_parameter_is_named(trial: Trial) -> None:
        Rule("4", "types are never coerced: a mistyped parameter is named", "wire.md")
        for route, parameters in PARAMETERS.items():
            for name, kind, _required in parameters:
                for value in WRONG[kind]:
                    body = {**_body(route, trial), name: value}
                    message = f"parameter {name!r} must be {kind}"
                    await trial.refused(route, body, code="value_error", message=message)

    @staticmethod
    async def the_first_fault_in_typing_order_is_reported(trial: Trial) -> None:
        Rule("4", "parameters are typed in order, and the first failure is reported", "wire.md")
        faults: tuple[tuple[dict[str, Any], str], ...] = (
            ({"scope": 1, "path": 2, "content": 3}, "scope"),
            ({"scope": "not a scope", "path": 2, "content": 3}, "path"),
        )
        for body, name in faults:
            message = f"parameter {name!r} must be a string"
            await trial.refused("memory/write", body, code="value_error", message=message)

    @staticmethod
    async def unknown_keys_and_nulls_are_as_absent(trial: Trial) -> None:
        rule = Rule("4", "unknown keys are ignored, and null is absent", "wire.md")
        written = await trial.ok(
            "memory/write",
            scope=trial.scope,
            path="a",
            content="x",
            actor=None,
            expected_version=None,
            surprise={"deep": [1]},
        )
        rule.equal(written["document"]["actor"], trial.recorded(None))

    @staticmethod
    async def of_two_equal_keys_the_last_wins(trial: Trial) -> None:
        rule = Rule("4", "of duplicate keys the last wins", "wire.md")
        await trial.ok("memory/write", scope=trial.scope, path="a", content="x")
        body = f'{{"scope":"{trial.scope}","path":"b","path":"a"}}'.encode()
        answer = await trial.post("memory/read", body)
        rule.equal(answer.decoded()["document"]["path"], "a")

    @staticmethod
    async def text_that_cannot_be_kept_is_refused(trial: Trial) -> None:
        rule = Rule("4", "U+0000 and lone surrogates are refused, nothing is written", "wire.md")
        scope, thread = trial.scope.encode(), trial.thread.encode()
        for text in UNSTORABLE.values():
            for route, body in (
                ("memory/write", b'{"scope":"%b","path":"a","content":"%b"}' % (scope, text)),
                (
                    "memory/write",
                    b'{"scope":"%b","path":"a","content":"","actor":"%b"}' % (scope, text),
                ),
                (
                    "conversation/append_turn",
                    b'{"conversation_id":"%b","messages":[{"role":"user","content":"%b"}]}'
                    % (thread, text),
                ),
                (
                    "conversation/append_projections",
                    b'{"conversation_id":"%b","entries":[{"turn":1,"kind":"log","text":"%b"}]}'
                    % (thread, text),
                ),
            ):
                answer = await trial.post(route, body)
                error = answer.decoded().get("error", {})
                rule.equal((route, answer.status, error.get("code")), (route, 400, "value_error"))
        rule.equal((await trial.ok("memory/history", scope=trial.scope))["versions"], [])
        last = await trial.ok("conversation/last_turn_number", conversation_id=trial.thread)
        rule.equal(last["turn"], 0)

    @staticmethod
    async def numbers_that_overflow_are_refused(trial: Trial) -> None:
        body = f'{{"scope":"{trial.scope}","path":"a","content":"x","expected_version":1e400}}'
        rule = Rule("4", "a number that overflows to infinity is a value error", "wire.md")
        answer = await trial.post("memory/write", body.encode())
        rule.equal((answer.status, answer.decoded()["error"]["code"]), (400, "value_error"))


def _body(route: str, trial: Trial) -> dict[str, Any]:
    """A good body of the route."""
    values: dict[str, Any] = {
        "scope": trial.scope,
        "path": "a",
        "src": "a",
        "dst": "b",
        "content": "x",
        "conversation_id": trial.thread,
        "messages": [{"role": "user", "content": "x"}],
        "entries": [],
        "query": "x",
    }
    return {name: values[name] for name, _type, required in PARAMETERS[route] if required}
