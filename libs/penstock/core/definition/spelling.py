"""Other spellings of a field, put into the one the model has: `node_id` is `id`, `timeout_sec: 60` is `timeout: 60s`.

A key that begins with `x-` is the author's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple, get_args

import msgspec

from penstock.core.definition.duration import SUFFIXES
from penstock.core.definition.language import Definition, DurationText, Json, Part
from penstock.core.definition.problem import Code, Path, Problems

_PRIVATE: Final = "x-"


class Spelling(NamedTuple):
    """What the keys of one kind of object mean."""

    names: frozenset[str]
    others: dict[str, tuple[str, str]]
    """Another spelling, to the field's name and the unit that the spelling implies."""
    parts: dict[str, type[Part]]
    """Fields that hold objects with spellings of their own."""


@cache
def spelling_of(part: type[Part]) -> Spelling:
    fields = msgspec.structs.fields(part)
    names = frozenset(field.encode_name for field in fields)
    durations = [field.encode_name for field in fields if DurationText in get_args(field.type)]
    units = {f"{name}_{suffix}": (name, unit) for name in durations for suffix, unit in SUFFIXES.items()}
    others = {key: units.get(name, (name, "")) for key, name in part.spellings.items()}
    parts = {field.encode_name: inner for field in fields if (inner := part_in(field.type))}
    return Spelling(names, {**units, **others}, parts)


def part_in(annotation: Any) -> type[Part] | None:  # noqa: ANN401 - types have no common type
    """The kind of object that a field's type allows."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation
    return next((found for inner in get_args(annotation) if (found := part_in(inner))), None)


def respell(part: type[Part], data: Json, path: Path, problems: Problems) -> Json:
    """The same data with every known key in the model's spelling; what is no object is left for the reader."""
    if isinstance(data, list):
        return [respell(part, item, (*path, index), problems) for index, item in enumerate(data)]
    if not isinstance(data, dict):
        return data
    names, others, parts = spelling_of(part)
    result: dict[str, Json] = {}
    for key, value in data.items():
        name, unit = (key, "") if key in names else others.get(key, (key, ""))
        if key.startswith(_PRIVATE):
            continue
        if name in result:
            message = f"`{key}` says again what another spelling of `{name}` has said"
            problems.error(Code.SPELLED_TWICE, (*path, key), message, "keep one of them")
        elif unit and isinstance(value, int | float) and not isinstance(value, bool):
            result[name] = f"{value}{unit}"
        elif name in parts and isinstance(value, dict | list):
            result[name] = respell(parts[name], value, (*path, name), problems)
        else:
            result[name] = value
    return result


def spellings() -> dict[str, tuple[str, ...]]:
    """Every field's name, to all its other spellings anywhere in the language."""
    found: dict[str, list[str]] = {}
    for part in all_parts():
        for key, (name, _) in spelling_of(part).others.items():
            found.setdefault(name, []).append(key)
    return {name: tuple(dict.fromkeys(keys)) for name, keys in found.items()}


@cache
def all_parts() -> tuple[type[Part], ...]:
    return tuple(dict.fromkeys(_parts_below(Definition)))


def _parts_below(part: type[Part]) -> Iterator[type[Part]]:
    yield part
    for inner in spelling_of(part).parts.values():
        yield from _parts_below(inner)


SPELLINGS: Final = spellings()
