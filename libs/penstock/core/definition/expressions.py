"""Compiles every expression of a definition, reports what does not compile, and notes what each one reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Protocol

from penstock.core.definition.language import Foreach, Merge, Node, Synchronize, Wait
from penstock.core.definition.problem import Code, Path, Place, Problems
from penstock.core.definition.read import Written
from penstock.core.definition.routes import Edge, Routes
from penstock.core.errors import PenstockError
from penstock.core.model.evaluate import Condition, Evaluator, Json
from penstock.core.model.evaluate import Path as Read

BEFORE: Final = frozenset({"input", "state", "nodes", "_branch", "_errors", "loop", "now"})
"""What an `input` mapping sees."""
AFTER: Final = BEFORE | {"output"}
"""What is seen when a node has completed."""
AT_THE_END: Final = frozenset({"input", "state", "nodes", "_branches", "_errors", "now"})

_LAST_ERROR: Final = ("state", "_last_error")
_INDEX: Final = re.compile(r"\[(\d+)\]")
_OPERATIONS: Final = frozenset({"set", "append", "delete"})
_TEXTS: Final = {"cel": "expression", "cross_node_comparison": "expression", "jsonpath": "query"}


class Use(NamedTuple):
    """One expression: what it reads, and where it is evaluated."""

    node: str | None
    """None: at the end of the run."""
    path: Path
    reads: frozenset[Read]
    roots: frozenset[str]
    completed: bool
    """The node's own output is there."""


class _Compiled(Protocol):
    @property
    def reads(self) -> frozenset[Read]: ...


class Expressions:
    def __init__(self, evaluator: Evaluator, problems: Problems) -> None:
        self._evaluator = evaluator
        self._problems = problems
        self._known: dict[int, frozenset[Read]] = {}
        self.uses: list[Use] = []

    def compile(self, written: Written, routes: Routes) -> None:
        for name, node in written.nodes.items():
            for edge in routes.leaving[name]:
                self._edge(edge, written)
            if node.enabled:
                self._node(node, written.paths[name])
        definition = written.definition
        if definition.output is not None:
            self._use(None, ("output",), self._value(definition.output, ("output",)), AT_THE_END)
        for name in ("input_schema", "state_schema", "output_schema"):
            self.schema(getattr(definition, name), (name,))
        for name, schema in definition.artifacts.items():
            self.schema(schema, ("artifacts", name))

    def schema(self, schema: Json, path: Path) -> Condition | None:
        if schema is None:
            return None
        try:
            return self._evaluator.condition({"type": "schema_validation", "schema": schema})
        except PenstockError as error:
            self._problems.error(Code.SCHEMA_INVALID, path, f"this is no JSON Schema: {_reason(error)}")
            return None

    def _edge(self, edge: Edge, written: Written) -> None:
        """Also says whether it catches failures."""
        if edge.when is not None:
            reads = self._condition(edge.when, edge.when_path)
            self._use(edge.source, edge.when_path, reads, AFTER)
            edge.catches = edge.kind == "transition" and any(read[:2] == _LAST_ERROR for read in reads)
        if edge.foreach is not None:
            spelled_out = isinstance(written.transitions[int(edge.path[1])][0].foreach, Foreach)
            path: Path = (*edge.path, "foreach", "in") if spelled_out else (*edge.path, "foreach")
            self._use(edge.source, path, self._value(edge.foreach.items, path), AFTER)
        if edge.synchronize is not None:
            self._merge(edge.synchronize.merge, (*edge.path, "synchronize", "merge"))

    def _node(self, node: Node, path: Path) -> None:
        if node.input is not None:
            self._use(node.id, (*path, "input"), self._value(node.input, (*path, "input")), BEFORE)
        if node.output is not None:
            where = (*path, "output")
            self._use(node.id, where, self._compiled(self._evaluator.output_mapping, node.output, where), AFTER)
        if node.loop and node.loop.enabled and node.loop.condition is not None:
            where = (*path, "loop", "condition")
            self._use(node.id, where, self._condition(node.loop.condition, where), AFTER)
        if isinstance(node.wait, Wait) and node.wait.until is not None:
            where = (*path, "wait", "until")
            self._use(node.id, where, self._value(node.wait.until, where), BEFORE)
        if isinstance(node.wait, Wait) and node.wait.match is not None:
            self._condition(node.wait.match, (*path, "wait", "match"))
        self._merge(node.merge, (*path, "merge"))
        if isinstance(node.fan_in, Synchronize):
            self._merge(node.fan_in.merge, (*path, "fan_in", "merge"))
        self.schema(node.input_schema, (*path, "input_schema"))
        self.schema(node.output_schema, (*path, "output_schema"))

    def _merge(self, merge: str | Merge | None, path: Path) -> None:
        """Evaluated per branch, wherever those stand."""
        if isinstance(merge, Merge):
            for name in ("source", "key"):
                if (source := getattr(merge, name)) is not None:
                    self._value(source, (*path, name))

    def _use(self, node: str | None, path: Path, reads: frozenset[Read], roots: frozenset[str]) -> None:
        self.uses.append(Use(node, path, reads, roots, roots is AFTER))

    def _condition(self, source: Json, path: Path) -> frozenset[Read]:
        if id(source) not in self._known:  # the targets of a branch rule share its condition
            self._known[id(source)] = self._compiled(self._evaluator.condition, source, path)
        return self._known[id(source)]

    def _value(self, source: Json, path: Path) -> frozenset[Read]:
        return self._compiled(self._evaluator.input_mapping, source, path)

    def _compiled(self, compile_source: Callable[[Json], _Compiled], source: Json, path: Path) -> frozenset[Read]:
        try:
            return compile_source(source).reads
        except PenstockError as error:
            self._report(error, source, path)
            return frozenset()

    def _report(self, error: PenstockError, source: Json, path: Path) -> None:
        several = error.attributes.get("problems")
        if isinstance(several, tuple):
            for inner in several:
                self._report(inner, source, path)
            return
        for step in _steps(str(error.attributes.get("field") or error.attributes.get("path") or ""), source):
            path, source = (*path, step), source[step]
        line, column = error.attributes.get("line"), error.attributes.get("column")
        at = Place(line, column) if isinstance(line, int) and isinstance(column, int) else None
        if at and isinstance(source, dict) and (text := _TEXTS.get(source.get("type", "cel"))) in source:
            path = (*path, str(text))
        self._problems.error(error.code, path, error.message, error.hint, at)


def _steps(field: str, source: Json) -> Iterator[str | int]:
    """The keys and indices that a field like `orders[0].total` names; keys may hold dots themselves."""
    while field:
        key: str | int
        if isinstance(source, list) and (found := _INDEX.match(field)):
            key, rest = int(found[1]), field[found.end() :]
        elif isinstance(source, dict):
            keys = [name for name in source if field == name or field.startswith((f"{name}.", f"{name}["))]
            if not keys and source.keys() <= _OPERATIONS:
                op = next((name for name in source if isinstance(source[name], dict) and field in source[name]), None)
                keys, field = ([op], f"{op}.{field}") if op else ([], field)
            if not keys:
                return
            longest: str = max(keys, key=len)
            key, rest = longest, field[len(longest) :]
        else:
            return
        if isinstance(key, int) and key >= len(source):
            return
        yield key
        source, field = source[key], rest.removeprefix(".")


def _reason(error: PenstockError) -> str:
    return str(error.attributes.get("reason", error.message))
