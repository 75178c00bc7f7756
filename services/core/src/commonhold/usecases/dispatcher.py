"""The one door to the memory commands: every edge calls it with a name and arguments.

docs/reference/memory-tool.md, section 5.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from commonhold.usecases.arguments import (
    Parameter,
    take_integer,
    take_integers,
    take_path,
    take_text,
)
from commonhold.usecases.commands.creations import create
from commonhold.usecases.commands.deletions import delete
from commonhold.usecases.commands.insertions import insert
from commonhold.usecases.commands.renames import rename
from commonhold.usecases.commands.replacements import str_replace
from commonhold.usecases.commands.views import view
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.envelopes import ToolResult
from commonhold.usecases.failures import CommandError, answer_failure
from commonhold.usecases.mounts import MountTable
from commonhold.usecases.virtual_paths import is_root, is_state, is_state_directory, resolve

TOOL = "memory"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command and what it takes: paths first, then its own arguments, left to right."""

    run: Callable[..., Awaitable[ToolResult]]
    paths: tuple[Parameter, ...]
    arguments: tuple[Parameter, ...] = ()
    only_shows: bool = False


_PATH = Parameter("path", take_path)

COMMANDS: Mapping[str, Command] = {
    "view": Command(
        run=view,
        paths=(Parameter("path", take_path, is_required=False),),
        arguments=(Parameter("view_range", take_integers, is_required=False),),
        only_shows=True,
    ),
    "create": Command(
        run=create,
        paths=(_PATH,),
        arguments=(Parameter("content", take_text, aliases=("file_text",)),),
    ),
    "str_replace": Command(
        run=str_replace,
        paths=(_PATH,),
        arguments=(Parameter("old_str", take_text), Parameter("new_str", take_text)),
    ),
    "insert": Command(
        run=insert,
        paths=(_PATH,),
        arguments=(Parameter("insert_line", take_integer), Parameter("insert_text", take_text)),
    ),
    "delete": Command(run=delete, paths=(_PATH,)),
    "rename": Command(
        run=rename,
        paths=(Parameter("old_path", take_path), Parameter("new_path", take_path)),
    ),
}


async def dispatch(
    context: MemoryContext, command: str, arguments: Mapping[str, Any]
) -> ToolResult:
    """Run one command and answer, whatever happens; only cancellation passes through.

    Arguments that the command does not use are not looked at.
    """
    try:
        return await perform(context, command, arguments)
    except Exception as error:  # noqa: BLE001 - the outermost frame of a tool: all is answered
        return answer_failure(TOOL, error, changes=_changes(command))


def _changes(command: str) -> bool:
    chosen = COMMANDS.get(command)
    return chosen is not None and not chosen.only_shows


async def perform(context: MemoryContext, command: str, arguments: Mapping[str, Any]) -> ToolResult:
    """As `dispatch`, but refusals are raised: CommandError and the errors of the contract."""
    chosen = COMMANDS.get(command)
    if chosen is None:
        raise CommandError(
            f"Unknown command {command!r}", hint=f"The commands are {', '.join(COMMANDS)}."
        )
    values: dict[str, Any] = {}
    for parameter in chosen.paths:
        path = values[parameter.name] = parameter.find(arguments)
        if path is not None:
            refuse_state(context.mounts, path, only_shows=chosen.only_shows)
    for parameter in chosen.arguments:
        values[parameter.name] = parameter.find(arguments)
    for parameter in (*chosen.paths, *chosen.arguments):
        if parameter.is_required and values[parameter.name] is None:
            raise CommandError(f"The {command!r} command requires the {parameter.name!r} parameter")
    return await chosen.run(context, **values)


def refuse_state(table: MountTable, path: str, *, only_shows: bool = False) -> None:
    """Keep commands away from the state of other tools.

    Raises PathInvalidError when the path leads nowhere, CommandError when it leads there.
    """
    if only_shows and is_root(path):
        return
    document_path = resolve(table, path).document_path
    if is_state(document_path) or (only_shows and is_state_directory(document_path)):
        raise CommandError(
            f"{path!r} belongs to the messages tool, which keeps its state there; "
            "the memory commands do not reach it"
        )
