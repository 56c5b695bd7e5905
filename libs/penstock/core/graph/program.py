"""A graph made ready to run: its rules, with every expression in them compiled once."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from penstock.core.model.evaluate import Condition, Evaluator, Failure, InputMapping, OutputMapping, Variables
from penstock.core.model.graph import GraphRule, NodeRule, TransitionRule

Json: TypeAlias = Any


class Expression(NamedTuple):
    """A compiled value, and the variables that it reads: nobody builds those that it does not."""

    compiled: InputMapping
    roots: frozenset[str]

    def evaluate(self, variables: Variables) -> Json | Failure:
        return self.compiled.evaluate(variables)


class Test(NamedTuple):
    compiled: Condition
    roots: frozenset[str]

    def evaluate(self, variables: Variables) -> bool | Failure:
        return self.compiled.evaluate(variables)


class Way(NamedTuple):
    """A transition with its condition and, if it fans out, its list of items."""

    rule: TransitionRule
    when: Test | None
    items: Expression | None


class Node(NamedTuple):
    rule: NodeRule
    input: Expression | None
    output: OutputMapping | None
    output_roots: frozenset[str]
    output_schema: Test | None
    ways: tuple[Way, ...]
    error_ways: tuple[Way, ...]
    again: Test | None
    """The loop's condition."""
    value: Expression | None
    """What a `transform` gives, or when a `wait` is over."""
    match: Test | None


class Merge(NamedTuple):
    source: Expression | None
    key: Expression | None


class Program:
    def __init__(self, graph: GraphRule, evaluator: Evaluator) -> None:
        self.graph = graph
        self.engine = evaluator.engine
        self._evaluator = evaluator
        self.nodes = {name: self._node(rule) for name, rule in graph.nodes.items()}
        self.order = {name: position for position, name in enumerate(graph.nodes)}
        self.merges = {
            name: Merge(self._expression(join.merge.source), self._expression(join.merge.key))
            for name, join in graph.groups.items()
            if join is not None
        }
        self.output = self._expression(graph.output)
        self.state_schema = self._schema(graph.state_schema)

    def _node(self, rule: NodeRule) -> Node:
        output = self._evaluator.output_mapping(rule.output) if rule.output is not None else None
        value = rule.config if rule.behaviour == "transform" else rule.wait.until if rule.wait else None
        return Node(
            rule=rule,
            input=self._expression(rule.input),
            output=output,
            output_roots=_roots(output),
            output_schema=self._schema(rule.output_schema),
            ways=tuple(map(self._way, rule.transitions)),
            error_ways=tuple(map(self._way, rule.on_error)),
            again=self._test(rule.loop.condition) if rule.loop else None,
            value=self._expression(value),
            match=self._test(rule.wait.match) if rule.wait else None,
        )

    def _way(self, rule: TransitionRule) -> Way:
        items = self._expression(rule.foreach.items) if rule.foreach else None
        return Way(rule, self._test(rule.when), items)

    def _expression(self, source: Json) -> Expression | None:
        if source is None:
            return None
        compiled = self._evaluator.input_mapping(source)
        return Expression(compiled, _roots(compiled))

    def _test(self, source: Json) -> Test | None:
        if source is None:
            return None
        compiled = self._evaluator.condition(source)
        return Test(compiled, _roots(compiled))

    def _schema(self, schema: Json) -> Test | None:
        return self._test({"type": "schema_validation", "schema": schema}) if schema is not None else None


def _roots(compiled: InputMapping | OutputMapping | Condition | None) -> frozenset[str]:
    return frozenset(path[0] for path in compiled.reads if path) if compiled is not None else frozenset()
