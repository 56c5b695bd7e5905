"""Plain data to the definition model. What does not fit is reported field by field, and left out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

import msgspec

from penstock.core.definition.language import Definition, Json, Node, Part, Transition
from penstock.core.definition.problem import Code, Path, Problems
from penstock.core.definition.spelling import part_in, respell

_P = TypeVar("_P", bound=Part)


class Written(NamedTuple):
    """A definition as its parts, each with the path where it stands."""

    definition: Definition
    nodes: dict[str, Node]
    paths: dict[str, Path]
    """Of the nodes."""
    transitions: list[tuple[Transition, Path]]
    whole: bool
    """Nothing had to be left out, so that what is missing is missing on purpose."""


def read(data: Json, problems: Problems) -> Written | None:
    if not isinstance(data, dict):
        problems.error(Code.WRONG_VALUE, (), "a definition is an object", "with `nodes`, for instance")
        return None
    before = problems.errors
    top = respell(Definition, {**data, **_emptied(data)}, (), problems)
    listed = _listed(data.get("nodes"))
    edges = data.get("transitions", data.get("edges"))
    definition = _read(Definition, {**top, **({"transitions": []} if isinstance(edges, list) else {})}, (), problems)
    nodes: dict[str, Node] = {}
    paths: dict[str, Path] = {}
    for key, item in listed:
        path: Path = ("nodes", key)
        node = _read_node(item, path, problems)
        if node is None:
            continue
        if node.id in nodes:
            problems.error(Code.DUPLICATE_ID, path, f"there are two nodes `{node.id}`", "give one of them another id")
        else:
            nodes[node.id], paths[node.id] = node, path
    transitions = list(_read_transitions(edges, problems)) if isinstance(edges, list) else []
    if definition is None:
        return None
    return Written(definition, nodes, paths, transitions, problems.errors == before)


def _emptied(data: dict[str, Json]) -> dict[str, Json]:
    """Nodes and transitions are read one by one: here they only have to be a list or an object."""
    nodes = data.get("nodes")
    emptied: dict[str, Json] = {"nodes": []} if isinstance(nodes, list | dict) else {}
    return emptied | {key: [] for key in ("transitions", "edges") if isinstance(data.get(key), list)}


def _listed(nodes: Json) -> Iterator[tuple[str | int, Json]]:
    if isinstance(nodes, dict):
        for name, item in nodes.items():
            has_id = isinstance(item, dict) and ("id" in item or "node_id" in item)
            yield name, {"id": name, **item} if isinstance(item, dict) and not has_id else item or {"id": name}
    elif isinstance(nodes, list):
        yield from enumerate(nodes)


def _read_node(item: Json, path: Path, problems: Problems) -> Node | None:
    spelled = respell(Node, item, path, problems)
    node = _read(Node, spelled, path, problems)
    if node is None and isinstance(spelled, dict) and isinstance(spelled.get("id"), str):
        return Node(id=spelled["id"])  # so that nothing else complains that it does not exist
    return node


def _read_transitions(items: list[Json], problems: Problems) -> Iterator[tuple[Transition, Path]]:
    for index, item in enumerate(items):
        path = ("transitions", index)
        transition = _read(Transition, respell(Transition, item, path, problems), path, problems)
        if transition is not None:
            yield transition, path


def _read(part: type[_P], data: Json, path: Path, problems: Problems) -> _P | None:
    try:
        return msgspec.convert(data, part)
    except msgspec.ValidationError:
        fitting = _explain(part, data, path, problems)
    try:
        return msgspec.convert(fitting, part)
    except msgspec.ValidationError:
        return None


def _explain(part: type[Part], data: Json, path: Path, problems: Problems) -> dict[str, Json]:
    """Report every field that does not fit; those that do."""
    if not isinstance(data, dict):
        problems.error(Code.WRONG_VALUE, path, f"expected an object, got {_kind(data)}")
        return {}
    fields = _fields(part)
    for key in (key for key in data if key not in fields):
        hint = problems.did_you_mean(key, fields, "a key of your own begins with `x-`")
        problems.error(Code.UNKNOWN_FIELD, (*path, key), f"there is no field `{key}` here", hint)
    fitting = {}
    for name, field in fields.items():
        if name not in data:
            if field.required:
                problems.error(Code.MISSING_FIELD, path, f"`{name}` is missing")
            continue
        try:
            msgspec.convert(data[name], field.type)
            fitting[name] = data[name]
        except msgspec.ValidationError as error:
            _explain_value(field.type, data[name], (*path, name), str(error), problems)
    return fitting


@cache
def _fields(part: type[Part]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(part)}


def _explain_value(annotation: Any, value: Json, path: Path, reason: str, problems: Problems) -> None:  # noqa: ANN401 - types have no common type
    inner, before = part_in(annotation), len(problems.found)
    if inner is not None and isinstance(value, dict):
        _explain(inner, value, path, problems)
    elif inner is not None and isinstance(value, list):
        for index, item in enumerate(value):
            _explain(inner, item, (*path, index), problems)
    if len(problems.found) > before:
        return
    choices = _choices(annotation)
    hint = f"one of {', '.join(choices)}" if choices else ""
    if choices and isinstance(value, str):
        hint = problems.did_you_mean(value, choices, hint)
    shown = f": `{value}`" if isinstance(value, str | int | float) else ""
    problems.error(Code.WRONG_VALUE, path, f"{reason.split(' - at ', 1)[0]}{shown}", hint)


def _choices(annotation: Any) -> list[str]:  # noqa: ANN401 - types have no common type
    if get_origin(annotation) is Literal:
        return [str(choice) for choice in get_args(annotation)]
    return [choice for inner in get_args(annotation) for choice in _choices(inner)]


def _kind(value: Json) -> str:
    return {list: "a list", str: "text", bool: "true or false", type(None): "nothing"}.get(type(value), "a number")
