"""A JSON Schema as strict servers take it (docs/reference/models.md, section 6)."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

# Names and defaults of properties that are lists or maps of schemas themselves.
_MAPS = ("properties", "$defs")
_LISTS = ("anyOf", "allOf", "prefixItems")
_LONGEST_NAME = 64


def wire_name(schema: type[BaseModel]) -> str:
    """The class's name in the characters that the wire allows; a generic's has brackets."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", schema.__name__)[:_LONGEST_NAME]


def json_schema(schema: type[BaseModel], *, strict: bool) -> dict[str, Any]:
    """The schema to send; ValueError for one that has no strict form.

    Strict: every object is closed and asks for all its properties, defaults included;
    `oneOf` becomes `anyOf`, and nothing stands beside a `$ref`. What an answer is checked
    against is always the class itself.
    """
    plain = schema.model_json_schema()
    return _strict(plain, name=schema.__name__) if strict else plain


def _strict(node: Mapping[str, Any], *, name: str) -> dict[str, Any]:
    if "$ref" in node:
        kept = {"$ref": node["$ref"]}
        if "$defs" in node:
            kept["$defs"] = {key: _strict(d, name=name) for key, d in node["$defs"].items()}
        return kept
    result = {key: value for key, value in node.items() if key not in {"default", "discriminator"}}
    if "oneOf" in result:
        result["anyOf"] = result.pop("oneOf")
    for key in _MAPS:
        if key in result:
            result[key] = {field: _strict(sub, name=name) for field, sub in result[key].items()}
    for key in _LISTS:
        if key in result:
            result[key] = [_strict(sub, name=name) for sub in result[key]]
    if isinstance(result.get("items"), Mapping):
        result["items"] = _strict(result["items"], name=name)
    if result.get("type") == "object":
        _close(result, name=name)
    return result


def _close(node: dict[str, Any], *, name: str) -> None:
    if node.get("additionalProperties", False) is not False:
        raise ValueError(
            f"schema {name} has an object with free keys, which no strict schema can:"
            " declare its properties, or send it with strict=False"
        )
    node.setdefault("properties", {})
    node["required"] = list(node["properties"])
    node["additionalProperties"] = False
