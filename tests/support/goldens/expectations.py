"""How goldens say what they expect: whole bodies, byte for byte."""

import json
from collections.abc import Mapping
from typing import Any

from tests.support.raw_http import Answer


def assert_ok(answer: Answer, body: str) -> None:
    """200 with exactly this body, as JSON without a charset."""
    assert (answer.status, answer.text) == (200, body)
    assert answer.header("content-type") == "application/json"
    assert answer.header("content-length") == str(len(body.encode()))


def assert_refused(
    answer: Answer,
    message: str,
    *,
    code: str = "value_error",
    details: Mapping[str, Any] | None = None,
    status: int = 400,
) -> None:
    """The envelope, compact and with non-ASCII raw."""
    error = {"code": code, "message": message, "details": dict(details or {})}
    expected = json.dumps({"error": error}, ensure_ascii=False, separators=(",", ":"))
    assert (answer.status, answer.text) == (status, expected)
    assert answer.header("content-type") == "application/json"


def assert_value_error(answer: Answer, *names: str) -> None:
    """A value_error whose text is free, but names each of these."""
    assert answer.status == 400, answer.text
    error = json.loads(answer.body)["error"]
    assert (error["code"], error["details"]) == ("value_error", {}), answer.text
    for name in names:
        assert name in error["message"]


def assert_plain(answer: Answer, status: int, text: str) -> None:
    assert (answer.status, answer.text) == (status, text)
    assert answer.header("content-type") == "text/plain; charset=utf-8"


def decoded(answer: Answer) -> Any:
    assert answer.status == 200, answer.text
    return json.loads(answer.body)
