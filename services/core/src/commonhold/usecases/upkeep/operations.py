"""What a model may propose, as the schema it answers in (maintenance.md, section 4.3).

pydantic, since the port of language models takes a model class. A plain union of four
objects whose properties are all required, which strict providers accept.
"""

from typing import Literal, TypeAlias

from pydantic import BaseModel

MAX_OPERATIONS = 200


class CreateOperation(BaseModel):
    command: Literal["create"]
    path: str
    content: str


class StrReplaceOperation(BaseModel):
    command: Literal["str_replace"]
    path: str
    old_str: str
    new_str: str


class DeleteOperation(BaseModel):
    command: Literal["delete"]
    path: str


class RenameOperation(BaseModel):
    command: Literal["rename"]
    old_path: str
    new_path: str


Operation: TypeAlias = CreateOperation | StrReplaceOperation | DeleteOperation | RenameOperation


class Operations(BaseModel):
    """A whole reply. Any other shape invalidates all of it; unknown keys are passed over."""

    ops: list[Operation]


def source_of(operation: Operation) -> str:
    return operation.old_path if isinstance(operation, RenameOperation) else operation.path


def written_path(operation: Operation) -> str:
    """The path a report names, in the model's own spelling: of a rename the destination."""
    return operation.new_path if isinstance(operation, RenameOperation) else operation.path
