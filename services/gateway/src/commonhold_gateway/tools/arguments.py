"""The arguments of the tools, checked against their closed schemas before a tool runs.

docs/reference/mcp.md, section 7. The validators are compiled once, at import, by the
library that the MCP SDK brings; the way to a field is ours, its message the library's.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from pydantic import BeforeValidator, ConfigDict, FailFast, TypeAdapter, ValidationError
from pydantic_core import PydanticKnownError
from typing_extensions import TypeAliasType, TypedDict

Check: TypeAlias = Callable[[Any], dict[str, Any]]

_CLOSED = ConfigDict(extra="forbid")
# A fault is a clause of the answer: a body of nothing but faults would take the process long
# to tell, and nobody reads so many.
MOST_STRANGERS = 10


class InvalidArgumentsError(ValueError):
    """What is wrong, one clause a field."""


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticKnownError("int_type")
    return value


Integer: TypeAlias = Annotated[int, BeforeValidator(_no_boolean)]
# A type of its own: with `None` beside it the annotation would have to be hashable.
Integers = TypeAliasType("Integers", Annotated[list[Integer], FailFast()])


class MemoryArguments(TypedDict):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]  # read by pydantic, no key of the dict

    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"]
    path: NotRequired[str | None]
    view_range: NotRequired[Integers | None]
    content: NotRequired[str | None]
    file_text: NotRequired[str | None]
    old_str: NotRequired[str | None]
    new_str: NotRequired[str | None]
    insert_line: NotRequired[Integer | None]
    insert_text: NotRequired[str | None]
    old_path: NotRequired[str | None]
    new_path: NotRequired[str | None]


class NoArguments(TypedDict):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]  # as above


class SkillArguments(TypedDict):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]  # as above

    name: str


class RecallArguments(TypedDict):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]  # as above

    turn: Integer
    conversation: str
    call: NotRequired[str | None]


class SearchArguments(TypedDict):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]  # as above

    query: str
    conversation: NotRequired[str | None]
    limit: NotRequired[Integer]


class ContinueArguments(TypedDict):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]  # as above

    conversation: NotRequired[str | None]
    session: NotRequired[str | None]


class HandoffArguments(TypedDict):
    __pydantic_config__ = _CLOSED  # type: ignore[misc]  # as above

    note: str


def checker(arguments: type[Any]) -> Check:
    """A check for one tool; it raises InvalidArgumentsError."""
    validate = TypeAdapter(arguments).validator.validate_python
    known = frozenset(arguments.__annotations__)

    def check(given: Mapping[str, Any]) -> dict[str, Any]:
        try:
            checked: dict[str, Any] = validate(_without_many_strangers(given, known))
        except ValidationError as error:
            raise InvalidArgumentsError(_clauses(error)) from None
        return checked

    return check


def _without_many_strangers(given: Mapping[str, Any], known: frozenset[str]) -> Mapping[str, Any]:
    """The arguments with no more keys that no tool takes than a refusal tells of."""
    if len(given) <= len(known) + MOST_STRANGERS:
        return given
    strangers = islice((name for name in given if name not in known), MOST_STRANGERS)
    kept = known.union(strangers)
    return {name: value for name, value in given.items() if name in kept}


def _clauses(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in found)
