"""The id that ties the log lines of one request together, taken from its headers if it has one."""

import re
from collections.abc import Mapping
from uuid import uuid4

_GIVEN = re.compile(r"[\x21-\x7e]{1,128}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*")


def request_id_of(headers: Mapping[str, str]) -> str:
    """`X-Request-Id`, else the trace id of `traceparent`, else a fresh one."""
    given = headers.get("x-request-id", "")
    if _GIVEN.fullmatch(given) is not None:
        return given
    trace = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
    return uuid4().hex if trace is None else trace.group(1)
