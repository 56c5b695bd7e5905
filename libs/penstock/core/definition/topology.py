"""Static checks on the whole graph: entries, ends, cycles, loops, named joins."""

from __future__ import annotations

from typing import Final

from penstock.core.definition.language import Node
from penstock.core.definition.problem import Code, Path, Problems
from penstock.core.definition.read import Written
from penstock.core.definition.routes import Edge, Routes, targets
from penstock.core.definition.shape import Shape
from penstock.core.model.graph import NodeRule

MAX_NESTING: Final = 64
"""Loops around one node."""


def entries_of(written: Written, shape: Shape, problems: Problems) -> tuple[str, ...]:
    if written.definition.entry is None:
        return shape.entries()
    given = targets(written.definition.entry)
    for name in given:
        if name not in written.nodes:
            hint = problems.did_you_mean(name, written.nodes)
            problems.error(Code.UNKNOWN_NODE, ("entry",), f"there is no node `{name}` to start at", hint)
    return tuple(dict.fromkeys(name for name in given if name in written.nodes))


def check_topology(
    written: Written,
    routes: Routes,
    shape: Shape,
    entries: tuple[str, ...],
    rules: dict[str, NodeRule],
    problems: Problems,
) -> None:
    _check_cycles(written, routes, shape, problems)
    if not written.whole or any(problem.code == Code.UNKNOWN_NODE for problem in problems.found):
        return  # what looks unreachable or endless may only be misspelled
    if not entries:
        hint = "name one in `entry`" if written.nodes else "write one"
        problems.error(Code.NO_ENTRY, ("nodes",), "there is no node to start at", hint)
        return
    reached = shape.reachable(entries)
    for name in written.nodes:
        if name not in reached:
            message = f"nothing leads to `{name}`"
            problems.error(Code.UNREACHABLE_NODE, written.paths[name], message, "lead to it, or remove it")
    if not written.definition.infinite and not any(_may_end(rules[name]) for name in reached):
        message = "there is no terminal node: a run would go on for ever"
        problems.error(Code.NO_TERMINAL, ("nodes",), message, "let a node lead nowhere, or say `infinite: true`")


def _may_end(rule: NodeRule) -> bool:
    return rule.terminal or rule.on_no_match == "end" or (rule.loop is not None and rule.loop.timeout_path == ())


def _check_cycles(written: Written, routes: Routes, shape: Shape, problems: Problems) -> None:
    def limited(edge: Edge) -> bool:
        return edge.limit is not None or written.nodes[edge.to].limits.max_hops is not None

    for edge in routes.all():
        if edge.kind != "back" and edge.limit is not None and not shape.is_loop_back(edge):
            message = f"`{edge.source}->{edge.to}` is no back-edge: nothing leads from `{edge.to}` to `{edge.source}`"
            problems.warn(Code.LIMIT_WITHOUT_CYCLE, (*edge.path, "max_iterations"), message, "leave it out")
    if written.definition.infinite:
        return
    for cycle in shape.cycles_without(limited):
        message = f"this cycle has no limit: {' -> '.join(cycle)}"
        hint = "give one of its transitions `max_iterations`, or one of its nodes `limits.max_hops`"
        problems.error(Code.CYCLE_WITHOUT_LIMIT, written.paths[cycle[0]], message, hint)


def enclosing_loops(written: Written, shape: Shape, problems: Problems) -> dict[str, tuple[str, ...]]:
    """For each node, the looping nodes whose body it is in."""
    found: dict[str, list[str]] = {name: [] for name in written.nodes}
    for name, node in written.nodes.items():
        loop = node.loop
        if loop is None or not loop.enabled or not node.enabled:
            continue
        path = (*written.paths[name], "loop")
        if loop.max_iterations is None and not written.definition.infinite:
            problems.error(Code.CYCLE_WITHOUT_LIMIT, path, "this loop has no `max_iterations`")
        back = loop.loop_back_to or name
        if back not in written.nodes:
            continue
        if not shape.forward.is_before(back, name):
            message = f"`{back}` does not lead to `{name}`: a loop goes back to itself or to an earlier node"
            problems.error(Code.LOOP_NOT_BACK, (*path, "loop_back_to"), message)
        elif back == name:
            found[name].append(name)
        else:
            for inside in shape.forward.between(back, name):
                found[inside].append(name)
            if len(found[back]) > MAX_NESTING:
                problems.error(Code.LIMIT_EXCEEDED, path, f"more than {MAX_NESTING} loops go around `{back}`")
                break
    return {name: tuple(loops) for name, loops in found.items()}


def dependencies_of(node: Node, routes: Routes, shape: Shape, path: Path, problems: Problems) -> tuple[str, ...]:
    """Whom a named join waits for: what the node says, and whoever else leads here."""
    entering = routes.entering[node.id]
    sources = dict.fromkeys(edge.source for edge in entering if edge.kind != "dead" and not shape.is_loop_back(edge))
    declared = [name for name in dict.fromkeys(node.dependencies) if name in sources]
    known = set(node.dependencies)
    others = [name for name in sources if name not in known]
    if node.wait_for_all and node.dependencies and others:
        message = f"`{'`, `'.join(others)}` leads here too, so `{node.id}` waits for it as well"
        problems.warn(Code.DEPENDENCY_UNDECLARED, (*path, "dependencies"), message, "add it to `dependencies`")
    if node.wait_for_all is None and len(node.dependencies) > 1:
        message = f"`{node.id}` runs once per arrival, not once for all of its {len(node.dependencies)} dependencies"
        hint = "say `wait_for_all: true`, or `false` if that is what is meant"
        problems.warn(Code.ARRIVALS_NOT_JOINED, (*path, "dependencies"), message, hint)
    return (*declared, *others)
