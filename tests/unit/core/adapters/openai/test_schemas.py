"""The strict form of a JSON Schema (docs/reference/models.md, section 6)."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from commonhold.adapters.openai.schemas import json_schema, wire_name


class Create(BaseModel):
    command: Literal["create"]
    path: str
    note: str | None = None


class Delete(BaseModel):
    command: Literal["delete"]
    path: str


class Plan(BaseModel):
    ops: list[Annotated[Create | Delete, Field(discriminator="command")]]
    best: Create = Field(
        description="beside a reference", default=Create(command="create", path="p")
    )
    pair: tuple[int, Delete] | None = None


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


class Free(BaseModel):
    counts: dict[str, int] = {}


def _nodes(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [node for item in schema for node in _nodes(item)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(node for value in schema.values() for node in _nodes(value))]


def test_every_object_is_closed_and_asks_for_all_it_has() -> None:
    objects = [n for n in _nodes(json_schema(Plan, strict=True)) if n.get("type") == "object"]
    assert len(objects) == 3
    for node in objects:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


def test_what_strict_servers_refuse_is_gone() -> None:
    schema = json_schema(Plan, strict=True)
    words = {word for node in _nodes(schema) for word in node}
    assert words & {"default", "discriminator", "oneOf"} == set()
    assert schema["properties"]["ops"]["items"] == {
        "anyOf": [{"$ref": "#/$defs/Create"}, {"$ref": "#/$defs/Delete"}]
    }
    assert schema["properties"]["best"] == {"$ref": "#/$defs/Create"}


def test_a_property_that_is_called_default_stays() -> None:
    class Odd(BaseModel):
        default: str
        required: int

    schema = json_schema(Odd, strict=True)
    assert list(schema["properties"]) == schema["required"] == ["default", "required"]


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = json_schema(Tree, strict=True)
    assert schema["$ref"] == "#/$defs/Tree"
    assert schema["$defs"]["Tree"]["required"] == ["name", "children"]


def test_free_keys_have_no_strict_form() -> None:
    with pytest.raises(ValueError, match=r"schema Free .* strict=False"):
        json_schema(Free, strict=True)
    assert json_schema(Free, strict=False) == Free.model_json_schema()


def test_an_object_without_properties_is_closed() -> None:
    class Nothing(BaseModel):
        pass

    assert json_schema(Nothing, strict=True) == {
        "title": "Nothing",
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }


def test_a_name_is_cut_to_what_the_wire_takes() -> None:
    long = type("Ünïcode" + "x" * 80, (BaseModel,), {})
    assert wire_name(long) == "_n_code" + "x" * 57
