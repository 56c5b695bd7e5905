"""A definition checked and compiled: every problem at once, and the graph if none of them is an error."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgspec

from penstock.core.definition.dataflow import DataFlow
from penstock.core.definition.duration import milliseconds
from penstock.core.definition.expressions import Expressions
from penstock.core.definition.language import Definition, Json
from penstock.core.definition.nodes import NodeCompiler, type_of
from penstock.core.definition.problem import Code, DefinitionInvalid, Places, Problem, Problems
from penstock.core.definition.read import Written, read
from penstock.core.definition.routes import Routes, wire
from penstock.core.definition.scopes import Scopes
from penstock.core.definition.shape import Shape
from penstock.core.definition.spelling import SPELLINGS
from penstock.core.definition.topology import check_topology, dependencies_of, enclosing_loops, entries_of
from penstock.core.definition.types import NodeType
from penstock.core.model.evaluate import Evaluator
from penstock.core.model.graph import GraphRule, JoinRule, LimitsRule, NodeRule

FORMAT: Final = 1
"""Of the compiled form: a cached graph with another number is compiled again from its source."""

MAX_BYTES: Final = 1024 * 1024
MAX_NODES: Final = 10_000
MAX_DEPTH: Final = 64


class Checked(msgspec.Struct, frozen=True):
    problems: tuple[Problem, ...]
    graph: GraphRule | None
    """None: there are errors."""
    hash: str
    """Of the source; names the definition for ever. Empty if it is too large to have one."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")


def check(
    definition: Json,
    *,
    evaluator: Evaluator,
    types: Mapping[str, NodeType] | None = None,
    places: Places | None = None,
    strict_types: bool = False,
) -> Checked:
    """All that can be known before a run. `places` say where each value stands in the text it was read from."""
    problems = Problems(definition, places or {}, SPELLINGS)
    encoded = _encode(definition, problems)
    graph = None
    if encoded is not None:
        graph = _Check(evaluator, types or {}, problems).compile(definition, strict_types=strict_types)
    found = tuple(sorted(problems.found, key=lambda problem: (problem.line or 0, problem.column or 0)))
    digest = f"sha256:{sha256(encoded).hexdigest()}" if encoded is not None else ""
    return Checked(found, None if problems.errors else graph, digest)


def compile_definition(
    definition: Json, *, evaluator: Evaluator, types: Mapping[str, NodeType] | None = None, strict_types: bool = False
) -> GraphRule:
    """Raises `DefinitionInvalid` with every problem."""
    checked = check(definition, evaluator=evaluator, types=types, strict_types=strict_types)
    if checked.graph is None:
        first = f"at {checked.errors[0].path}: {checked.errors[0].message}"
        raise DefinitionInvalid(count=len(checked.errors), first=first, problems=checked.problems)
    return checked.graph


def _encode(definition: Json, problems: Problems) -> bytes | None:
    """The bytes that are hashed: keys stay in their order, which is the order of what the engine builds."""
    level, depth = [definition], 0
    while level and depth <= MAX_DEPTH:
        level = [item for value in level if isinstance(value, dict | list) for item in _items(value)]
        depth += 1
    if level:
        problems.error(Code.TOO_LARGE, (), f"the definition nests deeper than {MAX_DEPTH} levels")
        return None
    encoded = msgspec.json.encode(definition)
    if len(encoded) > MAX_BYTES:
        message = f"the definition has {len(encoded):,} bytes, more than {MAX_BYTES:,}"
        problems.error(Code.TOO_LARGE, (), message, "move large values into blobs, or parts into child workflows")
        return None
    nodes = definition.get("nodes") if isinstance(definition, dict) else None
    if isinstance(nodes, list | dict) and len(nodes) > MAX_NODES:
        message = f"the definition has {len(nodes):,} nodes, more than {MAX_NODES:,}"
        problems.error(Code.TOO_LARGE, ("nodes",), message, "move parts into child workflows")
        return None
    return encoded


def _items(value: Json) -> Json:
    return value.values() if isinstance(value, dict) else value


class _Check:
    def __init__(self, evaluator: Evaluator, types: Mapping[str, NodeType], problems: Problems) -> None:
        self._types = types
        self._problems = problems
        self._expressions = Expressions(evaluator, problems)

    def compile(self, data: Json, *, strict_types: bool) -> GraphRule | None:
        problems = self._problems
        written = read(data, problems)
        if written is None:
            return None
        routes = wire(written, problems)
        shape = Shape(routes)
        self._expressions.compile(written, routes)
        entries = entries_of(written, shape, problems)
        scopes = Scopes(written, routes, problems)
        groups = scopes.joins(entries)
        scopes.check_opened()
        loops = enclosing_loops(written, shape, problems)
        compiler = NodeCompiler(self._types, problems, strict_types=strict_types or written.definition.strict_types)
        rules = {
            name: compiler.compile(
                node,
                routes.leaving[name],
                written.paths[name],
                dependencies_of(node, routes, shape, written.paths[name], problems),
                loops[name],
            )
            for name, node in written.nodes.items()
        }
        self._check_configs(written, rules, compiler)
        check_topology(written, routes, shape, entries, rules, problems)
        DataFlow(written, shape, scopes, groups, problems).check(self._expressions.uses)
        self._check_limits(written, routes)
        return _graph(written.definition, entries, rules, groups)

    def _check_configs(self, written: Written, rules: dict[str, NodeRule], compiler: NodeCompiler) -> None:
        for name, rule in rules.items():
            schema = compiler.type(type_of(written.nodes[name])).config_schema
            if schema is None or rule.config_ref is not None:
                continue
            path = (*written.paths[name], "config")
            condition = self._expressions.schema(schema, path)
            if condition is not None and condition.evaluate({"output": rule.config or {}}) is not True:
                message = f"the config does not satisfy the schema of the type `{rule.type}`"
                self._problems.error(Code.CONFIG_REFUSED, path, message, "the type's page lists its settings")

    def _check_limits(self, written: Written, routes: Routes) -> None:
        most = written.definition.limits.max_fanout
        for edge in routes.all():
            if edge.spawn is not None and edge.spawn > most:
                message = f"{edge.spawn} copies are more than `max_fanout` ({most})"
                self._problems.error(Code.LIMIT_EXCEEDED, (*edge.path, "spawn"), message, "raise `limits.max_fanout`")


def _graph(
    definition: Definition,
    entries: tuple[str, ...],
    nodes: dict[str, NodeRule],
    groups: dict[str, JoinRule | None],
) -> GraphRule:
    limits = definition.limits
    deadline = definition.deadline if definition.deadline is not None else limits.deadline
    return GraphRule(
        definition.name,
        entries,
        nodes,
        groups,
        definition.version,
        definition.input_schema,
        definition.state_schema,
        definition.output_schema,
        definition.output,
        definition.state,
        LimitsRule(
            max_hops=limits.max_hops,
            max_fanout=limits.max_fanout,
            max_tokens=limits.max_tokens,
            max_state_bytes=limits.max_state_bytes,
            max_bytes=limits.max_bytes,
            max_depth=limits.max_depth,
        ),
        None if deadline is None else milliseconds(deadline),
        definition.standalone,
        dict(definition.search_attributes),
        dict(definition.artifacts),
    )
