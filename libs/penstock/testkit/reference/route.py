"""Which ways a token takes after a completion or a failure. An answer is the ways, or the code of a routing failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TypeAlias

from penstock.core.model.evaluate import Condition, Failure
from penstock.testkit.reference.data import View
from penstock.testkit.reference.shape import Edge, Node

Ways: TypeAlias = tuple[Edge, ...]
Holds: TypeAlias = Callable[[Condition | None], bool]


class RoutingFailed(Exception):
    def __init__(self, code: str) -> None:
        self.code = code


def after_success(node: Node, view: View, executions: int, next_nodes: tuple[str, ...]) -> Ways:
    """`executions`: of a looping node, since its loop was entered."""
    holds = _holder(node, view)
    if node.loop:
        if holds(node.loop.condition):
            if node.loop.limit is None or executions < node.loop.limit:
                return node.loop.back
            if node.loop.timed_out is None:
                raise RoutingFailed("LOOP_LIMIT")
            return node.loop.timed_out
        if not node.branch and node.loop.broken is not None:
            return node.loop.broken
    if node.branch:
        return _branch(node, holds, next_nodes)
    candidates = [edge for edge in node.edges if not edge.catches]
    if not candidates:
        return ()
    return _matching(node, candidates, holds, executions) or _nothing(node)


def after_failure(node: Node, view: View) -> Ways:
    """Empty: nobody catches it."""
    candidates = [edge for edge in node.edges if edge.catches or edge.reads_error]
    return _matching(node, candidates, _holder(node, view), 0)


def _branch(node: Node, holds: Holds, next_nodes: tuple[str, ...]) -> Ways:
    branch = node.branch
    if branch is None:
        return ()
    if branch.agent:
        if not branch.available.issuperset(next_nodes):
            raise RoutingFailed("ROUTE_NOT_ALLOWED")
        if next_nodes:
            return tuple(Edge("", node.id, to) for to in next_nodes)
        return branch.default or _nothing(node)
    for condition, ways in branch.rules:
        if holds(condition):
            return ways
    return branch.default or _nothing(node)


def _matching(node: Node, candidates: Iterable[Edge], holds: Holds, executions: int) -> Ways:
    def matches(edge: Edge) -> bool:
        return not (edge.limit is not None and executions >= edge.limit) and holds(edge.when)

    ordered = sorted(candidates, key=lambda edge: (edge.tier, edge.order))
    if node.fan_out == "first_match":
        return tuple(next(([edge] for edge in ordered if matches(edge)), []))
    if node.fan_out == "all":
        return tuple(sorted((edge for edge in ordered if matches(edge)), key=lambda edge: edge.order))
    for _, tier in groupby(ordered, key=lambda edge: edge.tier):
        if found := tuple(edge for edge in tier if matches(edge)):
            return found
    return ()


def _nothing(node: Node) -> Ways:
    if node.errs_on_no_match:
        raise RoutingFailed("NO_MATCH")
    return ()


def _holder(node: Node, view: View) -> Holds:
    def holds(condition: Condition | None) -> bool:
        if condition is None:
            return True
        verdict = view.holds(condition)
        if isinstance(verdict, Failure):
            if node.errs_on_condition_error:
                raise RoutingFailed("CONDITION_ERROR")
            return False
        return verdict

    return holds
