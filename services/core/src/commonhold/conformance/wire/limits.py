"""How long a body may be (docs/reference/wire.md, section 2)."""

import json

from commonhold.conformance.rules import Rule
from commonhold.conformance.wire.gates import READ
from commonhold.conformance.wire.services import OK, UNAUTHORIZED, Answer
from commonhold.conformance.wire.trials import Trial, check_refusal

LARGEST_BYTES = 67108864
TOO_LARGE = 413
_PIECE = b" " * 1024 * 1024
_PIECES = [_PIECE] * (LARGEST_BYTES // len(_PIECE))


class LimitCases:
    title = "limits"

    @staticmethod
    async def a_length_above_the_limit_is_413_before_the_body(trial: Trial) -> None:
        for method, path in (
            ("POST", READ),
            ("POST", "/v1/store/restore_scope"),
            ("PUT", READ),
            ("POST", "/nothing"),
            ("GET", "/health"),
            ("GET", "/v1/capabilities"),
        ):
            answer = await trial.service.announce(method, path, length=LARGEST_BYTES + 1)
            _check_too_large(path, answer)
        await _check_that_it_goes_on(trial)

    @staticmethod
    async def without_a_token_a_length_above_the_limit_is_401(trial: Trial) -> None:
        rule = Rule("2", "the token is asked for before the length is looked at", "wire.md")
        length = LARGEST_BYTES + 1
        answer = await trial.service.announce("POST", READ, length=length, authorization=None)
        rule.equal((answer.status, answer.body), (UNAUTHORIZED, b"unauthorized"))

    @staticmethod
    async def a_chunked_body_is_413_once_it_passes_the_limit(trial: Trial) -> None:
        answer = await trial.service.announce("POST", READ, pieces=[*_PIECES, b" "])
        _check_too_large(READ, answer)
        await _check_that_it_goes_on(trial)

    @staticmethod
    async def a_body_as_long_as_the_limit_is_read(trial: Trial) -> None:
        rule = Rule("2", "a body of exactly 67108864 bytes is processed", "wire.md")
        body = json.dumps({"scope": trial.scope, "path": "a"}).encode()
        pieces = [body.ljust(len(_PIECE)), *_PIECES[1:]]
        answer = await trial.service.announce("POST", READ, pieces=pieces, length=LARGEST_BYTES)
        rule.equal((answer.status, answer.body), (OK, b'{"document":null}'))


def _check_too_large(path: str, answer: Answer) -> None:
    check_refusal(
        path,
        answer,
        code="value_error",
        message=f"request body exceeds {LARGEST_BYTES} bytes",
        details=None,
        status=TOO_LARGE,
    )
    rule = Rule("2", "what is left of the body is not read: 413 says connection: close", "wire.md")
    rule.equal((path, answer.header("connection")), (path, "close"))


async def _check_that_it_goes_on(trial: Trial) -> None:
    rule = Rule("2", "a body over the limit is refused by itself: the next is served", "wire.md")
    rule.equal(await trial.read("a"), None)
