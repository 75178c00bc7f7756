"""A tool call and what came of it, on one short line (docs/reference/mcp.md, section 11.3)."""

from typing import Any

import msgspec

from commonhold.contract.search import compact_json
from commonhold.usecases.history.clipping import digest_line, name_line, one_line
from commonhold.usecases.history.links import Links
from commonhold.usecases.history.turn_parts import AnsweredCall, arguments_text

_ARGUMENTS = 80
_NO_RESULT = "?"
# What decoding a text that is no JSON, or JSON too deep to walk, raises.
_UNREADABLE = (msgspec.MsgspecError, UnicodeError, ValueError, RecursionError)


def tool_segment(answered: AnsweredCall, links: Links) -> str:
    call = answered.call
    arguments = one_line(arguments_text(call), _ARGUMENTS, links=links)
    if answered.result is None:
        digest = _NO_RESULT
    else:
        digest = digest_line(gist(answered.result), links=links)
    return f"TOOL {name_line(call.name)}({arguments}) \N{RIGHTWARDS ARROW} {digest}"


def gist(result: str) -> str:
    """What a result in the envelope of a tool says: its error, or its data; else its text."""
    envelope = _object(result)
    if envelope is None:
        return result
    if envelope.get("success") is False:
        return f"error: {_text(envelope.get('error', _NO_RESULT))}"
    return _text(envelope["data"]) if "data" in envelope else result


def _object(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = msgspec.json.decode(text)
    except _UNREADABLE:
        return None
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return compact_json(value)
    except RecursionError:
        return _NO_RESULT
