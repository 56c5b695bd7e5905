"""The JSON Schema of the definition language, for editors: made from the model, with every spelling."""

from __future__ import annotations

import ast
import inspect
from typing import Any, Final

import msgspec

from penstock.core.definition import language
from penstock.core.definition.spelling import Spelling, all_parts, spelling_of

_REF: Final = "#/$defs/"


def json_schema() -> dict[str, Any]:
    schema = msgspec.json.schema(language.Definition)
    descriptions = _descriptions()
    for part in all_parts():
        own = schema["$defs"][part.__name__]
        properties: dict[str, Any] = own["properties"]
        for field in msgspec.structs.fields(part):
            if text := descriptions.get((part.__name__, field.name)):
                properties[field.encode_name]["description"] = text
        _add_spellings(own, spelling_of(part))
        own["patternProperties"] = {"^x-": {}}
    by_id = {**schema["$defs"]["Node"], "title": "NodeById"}
    del by_id["allOf"]  # which asks for an id
    schema["$defs"]["NodeById"] = by_id
    for choice in schema["$defs"]["Definition"]["properties"]["nodes"]["anyOf"]:
        if choice.get("type") == "object":
            choice["additionalProperties"] = {"anyOf": [{"$ref": f"{_REF}NodeById"}, {"type": "null"}]}
    result = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Penstock workflow", **schema}
    return msgspec.json.decode(msgspec.json.encode(result), type=dict[str, Any])


def _add_spellings(own: dict[str, Any], spelling: Spelling) -> None:
    """A required field may be there under any of its names."""
    properties, required = own["properties"], own.get("required", [])
    for key, (name, unit) in spelling.others.items():
        value = {"type": "number", "minimum": 0} if unit else {**properties[name]}
        properties[key] = {**value, "description": f"`{name}`, in {unit}" if unit else f"`{name}`"}
    named = {name: [key for key, (field, _) in spelling.others.items() if field == name] for name in required}
    if any(named.values()):
        own["required"] = [name for name in required if not named[name]]
        own["allOf"] = [
            {"anyOf": [{"required": [key]} for key in (name, *others)]} for name, others in named.items() if others
        ]


def _descriptions() -> dict[tuple[str, str], str]:
    """What the model says under each of its fields."""
    found: dict[tuple[str, str], str] = {}
    for owner in ast.parse(inspect.getsource(language)).body:
        if isinstance(owner, ast.ClassDef):
            for line, following in zip(owner.body, owner.body[1:], strict=False):
                if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
                    continue
                match following:
                    case ast.Expr(ast.Constant(str(text))):
                        found[owner.name, line.target.id] = text
                    case _:
                        pass
    return found
