"""The answer of a tool, whatever the transport (docs/reference/memory-tool.md, section 10)."""

import json

import msgspec

from commonhold.usecases.receipts import Receipt

_SHOWN = ("success", "data", "error", "code", "system_reminder")


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """`data` on success, `error` on failure, and in both cases perhaps a hint.

    `code` is the class of a failure of the tool itself; a refusal of the memory has its
    code at the head of `error`. The receipt stays in the process.
    """

    success: bool
    data: str | None = None
    error: str | None = None
    code: str | None = None
    system_reminder: str | None = None
    receipt: Receipt | None = None


def succeed(data: str, *, hint: str | None = None, receipt: Receipt | None = None) -> ToolResult:
    return ToolResult(success=True, data=data, system_reminder=hint, receipt=receipt)


def fail(error: str, *, hint: str | None = None, code: str | None = None) -> ToolResult:
    return ToolResult(success=False, error=error, system_reminder=hint, code=code)


def envelope_json(result: ToolResult) -> str:
    """One line of ASCII, absent fields left out."""
    fields = {name: getattr(result, name) for name in _SHOWN}
    return json.dumps({name: value for name, value in fields.items() if value is not None})
