"""What a successful change leaves in its caller's hands.

docs/reference/memory-tool.md, section 11.
"""

from typing import Any, Literal, TypeAlias

import msgspec

ReceiptCommand: TypeAlias = Literal["create", "str_replace", "insert", "delete", "rename", "revert"]


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Names the version row that a command appended, so that a revert can undo it.

    `path` is the virtual path, of a rename the destination's; `previous_path` its source.
    """

    command: ReceiptCommand
    mount_path: str
    path: str
    version: int
    previous_path: str | None = None


def memory_write_frame(receipt: Receipt, *, sequence: int, tool_call_id: str) -> dict[str, Any]:
    """The event of a change for a host that streams; it never carries content."""
    frame: dict[str, Any] = {
        "event": "memory_write",
        "sequence": sequence,
        "tool_call_id": tool_call_id,
        "command": receipt.command,
        "path": receipt.path,
        "version": receipt.version,
    }
    if receipt.previous_path is not None:
        frame["previous_path"] = receipt.previous_path
    return frame
