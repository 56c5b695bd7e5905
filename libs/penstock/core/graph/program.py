"""A graph made ready to run: its rules, with every expression in them compiled once."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby
from typing import Any, NamedTuple, Protocol, TypeAlias

from penstock.core.definition.problem import Problem
from penstock.core.graph.state import State, Token
from penstock.core.model.evaluate import (
    Condition,
    Evaluator,
    Failure,
    InputMapping,
    OutputMapping,
    Variables,
    Verdicts,
)
from penstock.core.model.evaluate import Program as UserProgram
from penstock.core.model.graph import GraphRule, MergeRule, NodeRule, TransitionRule

Json: TypeAlias = Any

NO_VERDICTS: Verdicts = {}

_PATH = re.compile(r"(\$\.)?[A-Za-z_]\w*(\.[A-Za-z_]\w*)*|\{\{ *[A-Za-z_]\w*(\.[A-Za-z_]\w*)* *\}\}")


class Expression(NamedTuple):
    """A compiled value, and the variables that it reads: nobody builds those that it does not."""

    compiled: InputMapping | OutputMapping
    roots: frozenset[str]
    plain: bool = False
    """It only passes on what it reads: a reference stays a reference."""

    def evaluate(self, variables: Variables) -> Json | Failure:
        return self.compiled.evaluate(variables)


class Test(NamedTuple):
    compiled: Condition
    roots: frozenset[str]
    programs: tuple[UserProgram, ...] = ()
    """User code in it, which runs elsewhere."""
    plain: bool = False

    def evaluate(self, variables: Variables, verdicts: Verdicts = NO_VERDICTS) -> bool | Failure:
        return self.compiled.evaluate(variables, verdicts)


class Way(NamedTuple):
    """A transition with its condition and, if it fans out, its list of items."""

    rule: TransitionRule
    when: Test | None
    items: Expression | None
    catches: bool
    """Its condition reads the last error: after a success it may be tried, and need not make sense."""


class Tier(NamedTuple):
    """Transitions that are tried together: the first tier with a match fires, all its matches."""

    ways: tuple[Way, ...]
    programs: tuple[UserProgram, ...]
    """User code in their conditions."""


class Node(NamedTuple):
    rule: NodeRule
    input: Expression | None
    output: Expression | None
    input_schema: Test | None
    output_schema: Test | None
    ways: tuple[Tier, ...]
    error_ways: tuple[Tier, ...]
    waits_for: frozenset[str]
    """If it is a named join: the nodes that it must hear from."""
    joined: dict[str, str]
    """If groups are joined here too: the node that each group's token counts as coming from."""
    loops: tuple[str, ...]
    """Loops that it is in, the innermost first: by looping node, or by the transition that leads back."""
    again: Test | None
    """The loop's condition."""
    value: Expression | None
    """What a `transform` gives, or when a `wait` is over."""
    match: Test | None


class Merge(NamedTuple):
    source: Expression | None
    key: Expression | None


class Library(Protocol):
    """Where programs come from."""

    def compile(self, definition: Json) -> Program:
        """Raises `DefinitionInvalid`."""

    def known(self, key: str) -> Json | None:
        """The definition of that content hash, or of that workflow and version, if it is at hand."""


class Source(NamedTuple):
    """What a program was made of."""

    definition: Json
    hash: str
    warnings: tuple[Problem, ...]
    library: Library


class Program:
    def __init__(self, graph: GraphRule, evaluator: Evaluator, source: Source | None = None) -> None:
        self.graph = graph
        self.source = source
        self.engine = evaluator.engine
        self._evaluator = evaluator
        loops = _loops(graph)
        self.nodes = {name: self._node(rule, loops.get(name, ())) for name, rule in graph.nodes.items()}
        self.order = {name: position for position, name in enumerate(graph.nodes)}
        self._merges = {name: self._merge(join.merge) for name, join in graph.groups.items() if join is not None}
        self.output = self._expression(graph.output)
        self.input_schema = self._schema(graph.input_schema)
        self.state_schema = self._schema(graph.state_schema)
        self.output_schema = self._schema(graph.output_schema)
        self.artifacts = {name: self._schema(schema) for name, schema in graph.artifacts.items()}

    def merge(self, group: str, rule: MergeRule) -> Merge:
        """By the rule that the group was opened with, whatever it is by now."""
        join = self.graph.groups.get(group)
        return self._merges[group] if join is not None and join.merge == rule else self._merge(rule)

    def begun_by(self, state: State, token: Token) -> NodeRule:
        """The rule of what is under way for the token, whatever its node's is by now."""
        for begun in state.begun:
            if token.id in begun.tokens:
                return begun.rule
        return self.nodes[token.node].rule

    def _merge(self, rule: MergeRule) -> Merge:
        return Merge(self._expression(rule.source), self._expression(rule.key))

    def _node(self, rule: NodeRule, loops: tuple[str, ...]) -> Node:
        caught = {way.id for way in rule.on_error}
        joined, waits_for = self._arrivals(rule)
        value = rule.config if rule.behaviour == "transform" else rule.wait.until if rule.wait else None
        return Node(
            rule=rule,
            input=self._expression(rule.input),
            output=self._writes(rule.output),
            input_schema=self._schema(rule.input_schema),
            output_schema=self._schema(rule.output_schema),
            ways=_tiers(rule, [self._way(way, catches=way.id in caught) for way in rule.transitions]),
            error_ways=_tiers(rule, [self._way(way, catches=False) for way in rule.on_error]),
            waits_for=waits_for,
            joined=joined,
            loops=loops,
            again=self._test(rule.loop.condition) if rule.loop else None,
            value=self._expression(value),
            match=self._test(rule.wait.match) if rule.wait else None,
        )

    def _arrivals(self, rule: NodeRule) -> tuple[dict[str, str], frozenset[str]]:
        """A group joined at a named join is one arrival, from the first of the nodes that join it."""
        if not rule.wait_for_all:
            return {}, frozenset()
        nodes = self.graph.nodes
        joins = [
            (source, way.joins)
            for source in rule.dependencies
            for way in nodes[source].transitions
            if way.to == rule.id and way.joins is not None
        ]
        joined: dict[str, str] = {}
        for source, group in joins:
            joined.setdefault(group, source)
        others = {source for source, _ in joins} - set(joined.values())
        waits_for = frozenset(rule.dependencies) - others
        alone = len(waits_for) == 1 and bool(joined)
        return (joined, frozenset()) if alone else (joined, waits_for)

    def _way(self, rule: TransitionRule, *, catches: bool) -> Way:
        items = self._expression(rule.foreach.items) if rule.foreach else None
        items = items and items._replace(plain=False)  # a list is looked into, whatever names it
        return Way(rule, self._test(rule.when), items, catches)

    def _expression(self, source: Json) -> Expression | None:
        if source is None:
            return None
        compiled = self._evaluator.input_mapping(source)
        return Expression(compiled, _roots(compiled), _is_plain(source))

    def _writes(self, source: Json) -> Expression | None:
        if source is None:
            return None
        compiled = self._evaluator.output_mapping(source)
        return Expression(compiled, _roots(compiled), _is_plain(source))

    def _test(self, source: Json) -> Test | None:
        if source is None:
            return None
        compiled = self._evaluator.condition(source)
        return Test(compiled, _roots(compiled), compiled.programs)

    def _schema(self, schema: Json) -> Test | None:
        return self._test({"type": "schema_validation", "schema": schema}) if schema is not None else None


def _tiers(rule: NodeRule, ways: list[Way]) -> tuple[Tier, ...]:
    together: dict[str, Callable[[Way], object]] = {
        "tiers": lambda way: way.rule.tier,
        "first_match": lambda way: way.rule.id,
        "all": lambda way: way.rule.default,
    }
    tiers = [tuple(tier) for _, tier in groupby(ways, key=together[rule.fan_out])]
    return tuple(Tier(tier, _programs(tier)) for tier in tiers)


def _programs(ways: tuple[Way, ...]) -> tuple[UserProgram, ...]:
    return tuple(program for way in ways if way.when for program in way.when.programs)


def _roots(compiled: InputMapping | OutputMapping | Condition | None) -> frozenset[str]:
    return frozenset(path[0] for path in compiled.reads if path) if compiled is not None else frozenset()


def _is_plain(source: Json) -> bool:
    """Every text in it is a path and nothing more."""
    if isinstance(source, str):
        return _PATH.fullmatch(source) is not None
    if isinstance(source, dict):
        return all(_is_plain(item) for item in source.values())
    return all(_is_plain(item) for item in source) if isinstance(source, list) else True


def _loops(graph: GraphRule) -> dict[str, tuple[str, ...]]:
    """For each node in a loop, the loops around it: those with the smaller bodies are the inner ones."""
    bodies: dict[str, set[str]] = {}
    for name, rule in graph.nodes.items():
        if rule.loop is not None:
            bodies.setdefault(name, set()).add(name)
        for loop in rule.enclosing_loops:
            bodies.setdefault(loop, set()).add(name)
    backs = [
        (way.id, way.to, name)
        for name, rule in graph.nodes.items()
        for way in (*rule.transitions, *rule.on_error)
        if way.max_iterations is not None
    ]
    if backs:
        following = {name: _next(rule) for name, rule in graph.nodes.items()}
        before: dict[str, list[str]] = {name: [] for name in graph.nodes}
        for name, targets in following.items():
            for target in targets:
                before[target].append(name)
        for loop, first, last in backs:
            bodies[loop] = _reached(first, following) & _reached(last, before)
    around: dict[str, list[str]] = {}
    for loop in sorted(bodies, key=lambda loop: len(bodies[loop])):
        for name in bodies[loop]:
            around.setdefault(name, []).append(loop)
    return {name: tuple(loops) for name, loops in around.items()}


def _next(rule: NodeRule) -> list[str]:
    """Where a node leads, ways back aside."""
    ways = [way.to for way in (*rule.transitions, *rule.on_error) if way.max_iterations is None]
    timeout = rule.loop.timeout_path if rule.loop else None
    rejection = rule.human.rejection_path if rule.human else None
    agent = (*rule.agent.allowed, *rule.agent.default) if rule.agent else ()
    return [*ways, *(timeout or ()), *(rejection or ()), *agent]


def _reached(start: str, neighbours: dict[str, list[str]]) -> set[str]:
    found, left = {start}, [start]
    while left:
        new = [name for name in neighbours[left.pop()] if name not in found]
        found.update(new)
        left += new
    return found
