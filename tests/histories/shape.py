"""What an event looks like as bytes, and whether what was written in one shape can be read in another."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import inspect

from penstock.core.model.events import EVENTS

Shape: TypeAlias = Any
"""A name (`int`, `any` …), or an object: `struct`, `any_of`, `literal`, `list` or `dict`."""


def shapes() -> dict[str, Shape]:
    """Of every event, by tag."""
    kinds = [inspect.type_info(event) for event in EVENTS]
    return {str(kind.tag): shape(kind) for kind in kinds if isinstance(kind, inspect.StructType)}


def shape(kind: inspect.Type) -> Shape:
    found: Shape = type(kind).__name__.removesuffix("Type").lower()
    match kind:
        case inspect.StructType(fields=fields, array_like=ordered):
            inside = {field.encode_name: [shape(field.type), field.required] for field in fields}
            found = {"struct": inside, "ordered": ordered}
        case inspect.UnionType(types=types):
            found = {"any_of": [shape(member) for member in types]}
        case inspect.LiteralType(values=values):
            found = {"literal": list(values)}
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            found = {"list": shape(item)}
        case inspect.DictType(value_type=value):
            found = {"dict": shape(value)}
    return found


def fits(old: Shape, new: Shape) -> bool:
    """All that was written as `old` means the same when it is read as `new`."""
    if new in (old, "any"):
        return True
    if isinstance(old, dict) and "any_of" in old:
        return all(fits(member, new) for member in old["any_of"])
    if isinstance(new, dict) and "any_of" in new:
        return any(fits(old, member) for member in new["any_of"])
    alike = isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys()
    if alike and "literal" in old:
        return set(old["literal"]) <= set(new["literal"])
    if alike and "struct" in old:
        return _struct_fits(old, new)
    return alike and all(fits(old[key], new[key]) for key in old)


def _struct_fits(old: Shape, new: Shape) -> bool:
    """Fields may be added if they have a default, at the end if their order counts; none may go."""
    before, after = old["struct"], new["struct"]
    if old["ordered"] != new["ordered"] or (old["ordered"] and list(before) != list(after)[: len(before)]):
        return False
    kept = all(
        name in after and fits(kind, after[name][0]) and (needed or not after[name][1])
        for name, (kind, needed) in before.items()
    )
    return kept and not any(needed for name, (_, needed) in after.items() if name not in before)
