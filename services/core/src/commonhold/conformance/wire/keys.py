"""Idempotency keys (docs/reference/wire.md, section 14)."""

import asyncio

from commonhold.conformance.rules import Rule
from commonhold.conformance.wire.services import OK, Answer
from commonhold.conformance.wire.trials import NotSupportedError, Trial


class KeyCases:
    title = "keys"

    @staticmethod
    async def a_repeated_request_happens_once(trial: Trial) -> None:
        rule = Rule("14", "same key and body: not repeated, and answered as the first", "wire.md")
        first, again = [await _write(trial, "k", "one") for _ in range(2)]
        rule.equal((again.status, again.body), (first.status, first.body))
        rule.equal(len(await trial.versions("a")), 1)

    @staticmethod
    async def racing_repeats_happen_once(trial: Trial) -> None:
        rule = Rule("14", "the same key while the first is running waits and replays", "wire.md")
        _require_keys(trial)
        answers = await asyncio.gather(*(_write(trial, "k", "one") for _ in range(6)))
        rule.equal({answer.status for answer in answers}, {OK})
        rule.equal(len(await trial.versions("a")), 1)

    @staticmethod
    async def another_request_under_the_key_is_refused(trial: Trial) -> None:
        rule = Rule("14", "the same key with another body is a value error", "wire.md")
        await _write(trial, "k", "one")
        answer = await _write(trial, "k", "two")
        error = answer.decoded()["error"]
        message = "idempotency key was used for another request"
        rule.equal((answer.status, error["code"], error["message"]), (400, "value_error", message))
        rule.equal((await trial.read("a"))["content"], "one")

    @staticmethod
    async def a_refusal_leaves_the_key_free(trial: Trial) -> None:
        rule = Rule("14", "refusals are not kept: the repeated request is tried afresh", "wire.md")
        refused = await _write(trial, "k", "x", expected_version=1)
        rule.equal(refused.status, 400)
        await trial.write("a", "one")
        rule.equal((await _write(trial, "k", "x", expected_version=1)).status, OK)

    @staticmethod
    async def a_replay_after_a_redaction_is_empty(trial: Trial) -> None:
        rule = Rule("14", "after a redaction a replay shows the row as it is now", "wire.md")
        await _write(trial, "k", "secret")
        await trial.ok("memory/redact", scope=trial.scope)
        replay = (await _write(trial, "k", "another body")).decoded()["document"]
        rule.equal((replay["content"], replay["redacted"]), ("", True))

    @staticmethod
    async def a_bad_key_is_refused(trial: Trial) -> None:
        rule = Rule("14", "a key is 1 to 255 visible ASCII characters", "wire.md")
        _require_keys(trial)
        for key in ("", "a b", "x" * 256):
            body = {"scope": trial.scope, "path": "a", "content": "x"}
            headers = {"Idempotency-Key": key}
            answer = await trial.post("memory/write", body, headers=headers)
            rule.equal((answer.status, answer.decoded()["error"]["code"]), (400, "value_error"))


def _require_keys(trial: Trial) -> None:
    if not trial.capabilities.keeps_keys:
        raise NotSupportedError("the service keeps no idempotency keys")


async def _write(trial: Trial, key: str, content: str, **options: int) -> Answer:
    _require_keys(trial)
    body = {"scope": trial.scope, "path": "a", "content": content, **options}
    return await trial.post(
        "memory/write", body, headers={"Idempotency-Key": f"{key}-{trial.scope}"}
    )
