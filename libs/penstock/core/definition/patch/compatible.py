"""Whether configs written for one schema may be read by another: a breaking change needs a new `type_url`.

What cannot be told to be harmless counts as breaking.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from penstock.core.definition.patch.pointer import pointer

Json: TypeAlias = Any
Path: TypeAlias = tuple[str, ...]

_SAID: Final = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
"""Keywords that refuse nothing, as do those that begin with `$`."""
_INSIDE: Final = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum"})


def breaking_changes(old: Json, new: Json) -> tuple[str, ...]:
    """What a config that fits `old`, or a worker that relies on it, may stumble over in `new`."""
    return tuple(f"{pointer(path) or '/'}: {reason}" for path, reason in _breaking(_object(old), _object(new), ()))


def _object(schema: Json) -> dict[str, Json]:
    return schema if isinstance(schema, dict) else {} if schema in (None, True) else {"not": {}}


def _breaking(old: dict[str, Json], new: dict[str, Json], path: Path) -> Iterator[tuple[Path, str]]:
    if "type" in new and not _types(old) <= _types(new):
        yield path, "the type is narrower"
    if "enum" in new and not ("enum" in old and all(value in new["enum"] for value in old["enum"])):
        yield path, "a value is no longer allowed"
    if "items" in new:
        yield from _breaking(_object(old.get("items")), _object(new["items"]), (*path, "*"))
    yield from _breaking_fields(old, new, path)
    for keyword, value in new.items():
        told = keyword in _SAID or keyword in _INSIDE or keyword.startswith("$")
        if not told and old.get(keyword) != value:
            yield path, f"`{keyword}` is another"


def _breaking_fields(old: dict[str, Json], new: dict[str, Json], path: Path) -> Iterator[tuple[Path, str]]:
    before, after = old.get("properties", {}), new.get("properties", {})
    others = new.get("additionalProperties", True)
    if others is not True and others != old.get("additionalProperties", True):
        yield path, "other fields are not allowed as they were"
    required = old.get("required", ())
    yield from (((*path, name), "it is required now") for name in new.get("required", ()) if name not in required)
    for name in before:
        if name in after:
            yield from _breaking(_object(before[name]), _object(after[name]), (*path, name))
        elif others is not True or name in required:
            yield (*path, name), "it is gone"


def _types(schema: dict[str, Json]) -> set[str]:
    """Whole numbers are numbers."""
    written = schema.get("type", ["object", "array", "string", "number", "boolean", "null"])
    found = {written} if isinstance(written, str) else set(written)
    return found | {"integer"} if "number" in found else found
