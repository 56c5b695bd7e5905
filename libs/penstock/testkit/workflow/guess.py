"""What the outputs of nodes look like that have no schema: told from the expressions that read them.

A condition says most: `output.status == 'busy'` reads a text that may be `busy`, `output.valid` alone a flag, and a
`foreach` a list. It is a guess; whoever wants better writes an `output_schema`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from penstock.core.graph.program import Expression, Node, Program, Test
from penstock.core.model.evaluate import Path

Schema: TypeAlias = dict[str, Any]

_LITERAL = r"""('[^']*'|"[^"]*"|-?\d+(?:\.\d+)?|true|false)?"""
_COMPARED = r"\s*(?:==|!=|<=?|>=?)\s*"
_UNKNOWN: Schema = {"type": "integer", "minimum": 0, "maximum": 9}
_FLAG: Schema = {"type": "boolean"}
_LIST: Schema = {"type": "array", "items": _UNKNOWN, "maxItems": 3}


class _Read(NamedTuple):
    node: str
    path: Path
    """From the output down."""
    schema: Schema


@lru_cache(maxsize=16)
def guess(program: Program) -> dict[str, Schema]:
    """A schema for each node of whose output something is read."""
    found: dict[str, Schema] = {}
    for read in _reads(program):
        root = found.setdefault(read.node, {})
        _put(root, read.path, read.schema)
    return found


def schema_of(program: Program, node: str) -> Schema | None:
    """Its own, where it has one, with what is read of it besides, if that may be there."""
    rule, guessed = program.graph.nodes.get(node), guess(program).get(node)
    own = rule.output_schema if rule else None
    if own is None or guessed is None or "properties" not in own or own.get("additionalProperties") is False:
        return guessed if own is None else own
    read = guessed.get("properties", {})
    properties = {**read, **own["properties"]}
    return {**own, "properties": properties, "required": list(dict.fromkeys([*own.get("required", ()), *read]))}


def _reads(program: Program) -> Iterator[_Read]:
    for name, node in program.nodes.items():
        for compiled, source, listed in _expressions(node):
            for path in compiled.reads:
                if path[:1] == ("output",):
                    yield _Read(name, path[1:], _LIST if listed else _schema(source, ".".join(path)))
                elif path[:1] in {("nodes",), ("ctx",)} and len(path) > 2 and path[2] == "output":  # noqa: PLR2004 - nodes.<id>.output
                    yield _Read(path[1], path[3:], _LIST if listed else _schema(source, ".".join(path)))


def _expressions(node: Node) -> Iterator[tuple[Any, str | None, bool]]:
    """Each that may read an output: compiled, its text if it is a condition, and whether it must be a list."""
    ways = [way for tier in (*node.ways, *node.error_ways) for way in tier.ways]
    tests: list[tuple[Test | None, Any]] = [(way.when, way.rule.when) for way in ways]
    tests.append((node.again, node.rule.loop.condition if node.rule.loop else None))
    for test, source in tests:
        if test is not None:
            text = source.get("expression") if isinstance(source, dict) else source
            yield test.compiled, text if isinstance(text, str) else None, False
    items: list[Expression | None] = [way.items for way in ways]
    for expression in items:
        if expression is not None:
            yield expression.compiled, None, True
    for expression in (node.input, node.output, node.value):
        if expression is not None:
            yield expression.compiled, None, False


def _schema(condition: str | None, path: str) -> Schema:
    """Of what a condition compares with, else of a flag; outside of conditions nobody can tell."""
    if condition is None:
        return _UNKNOWN
    name = re.escape(path)
    if re.search(rf"size\(\s*{name}\s*\)|\b{name}\s*\[", condition):
        return _LIST
    compared = re.findall(rf"\b{name}{_COMPARED}{_LITERAL}", condition)
    if compared:
        return _fitting(compared)
    return _UNKNOWN if re.search(rf"\b{name}\s*[-+*/%]", condition) else _FLAG


def _fitting(literals: list[str]) -> Schema:
    """Values on either side of each."""
    if not all(literals):
        return _UNKNOWN
    if literals[0] in {"true", "false"}:
        return _FLAG
    if literals[0][0] in "'\"":
        return {"enum": [*dict.fromkeys(literal[1:-1] for literal in literals), "other"]}
    numbers = [float(literal) if "." in literal else int(literal) for literal in literals if literal[0] not in "'\"tf"]
    return {"enum": sorted({number + step for number in numbers for step in (-1, 0, 1)})}


def _put(root: Schema, path: Path, schema: Schema) -> None:
    """What is known of a place: the first that says something, and all texts and numbers that are compared with it."""
    if path:
        root.setdefault("type", "object")
        inner = root.setdefault("properties", {}).setdefault(path[0], {})
        root["required"] = list(root["properties"])
        _put(inner, path[1:], schema)
    elif "enum" in schema and "enum" in root:
        root["enum"] = list(dict.fromkeys([*root["enum"], *schema["enum"]]))
    elif not root or (root == _UNKNOWN and schema != _UNKNOWN):
        root.clear()
        root.update(schema)
