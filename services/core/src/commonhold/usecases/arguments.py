"""The arguments of a command, taken from what a caller sent.

docs/reference/memory-tool.md, section 5. The names are those of the `memory_20250818` tool,
and `content`. An edge that validates against a schema finds nothing left to refuse here.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from commonhold.contract.text import text_fault
from commonhold.usecases.failures import CommandError

INVALID_ARGUMENTS = "tool_invalid_arguments"


class Parameter(msgspec.Struct, frozen=True):
    """An argument of one command. An alias counts when the name before it has no value."""

    name: str
    take: Callable[[str, Any], Any]
    aliases: tuple[str, ...] = ()
    is_required: bool = True

    def find(self, arguments: Mapping[str, Any]) -> Any:
        """The value under the first name that has one; null is as good as absent."""
        for name in (self.name, *self.aliases):
            value = arguments.get(name)
            if value is not None:
                return self.take(name, value)
        return None


def take_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _invalid(name, "Input should be a valid string")
    return require_sound(name, value)


def require_sound(name: str, value: str, *, tool: str = "memory") -> str:
    """The text again; CommandError when no store could hold it."""
    fault = text_fault(value)
    if fault is not None:
        raise _invalid(name, f"Input should not contain {fault}", tool=tool)
    return value


def take_path(name: str, value: Any) -> str:
    """As text, whose faults the grammar of paths names."""
    if not isinstance(value, str):
        raise _invalid(name, "Input should be a valid string")
    return value


def take_integer(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _invalid(name, "Input should be a valid integer")
    return value


def take_integers(name: str, value: Any) -> list[int]:
    if not isinstance(value, list | tuple):
        raise _invalid(name, "Input should be a valid list")
    return [take_integer(f"{name}.{position}", item) for position, item in enumerate(value)]


def _invalid(name: str, reason: str, *, tool: str = "memory") -> CommandError:
    return CommandError(
        f"Invalid arguments for tool {tool!r}: {name}: {reason}", code=INVALID_ARGUMENTS
    )
