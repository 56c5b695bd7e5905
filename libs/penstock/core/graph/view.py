"""What expressions see from where a token stands.

Reads look outward: a branch sees its own node outputs, then those of the scopes around it; `state` is the root's
everywhere. Only the variables that an expression reads are built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from penstock.core.graph.evolve import fault_json
from penstock.core.graph.state import ROOT, Group, Scope, State, Token
from penstock.core.model.time import Instant

Json: TypeAlias = Any


def variables(
    state: State, token: Token, roots: frozenset[str], now: Instant, loops: tuple[str, ...] = ()
) -> dict[str, Json]:
    """The variables among `roots` that exist for `token`, which stands inside `loops`, the innermost first."""
    scope = state.scopes[token.scope]
    found = {}
    for root in roots:
        build = _VARIABLES.get(root)
        if build is not None and (value := build(state, scope, token)) is not _ABSENT:
            found[root] = value
    if "now" in roots:
        found["now"] = now
    if "loop" in roots:
        found["loop"] = {"iteration": _iteration(state, scope, loops[0]) if loops else 1}
    return found


def run_variables(state: State, now: Instant) -> dict[str, Json]:
    """What the run's own output mapping sees."""
    root = state.scopes[ROOT]
    return {
        "input": state.input,
        "state": root.data,
        "nodes": root.nodes,
        "_branches": state.branches,
        "_errors": root.errors,
        "now": now,
    }


def branch_variable(state: State, scope: Scope) -> Json:
    if scope.group == 0:
        return _ABSENT
    group = state.groups[scope.group]
    value = {
        "index": scope.branch,
        "total": group.total,
        "fan_out_node_id": group.origin,
        "group": group.name,
        "item": group.items[scope.branch] if group.items is not None else None,
        "output": scope.data,
        "parent": None,
    }
    name = _item_name(group, scope.branch)
    if name and group.items is not None:
        value[name] = group.items[scope.branch]
    outer = branch_variable(state, state.scopes[group.scope]) if group.scope in state.scopes else _ABSENT
    if outer is not _ABSENT:
        value["parent"] = outer
    return value


def _item_name(group: Group, branch: int) -> str:
    for count, name in group.parts:
        if branch < count:
            return name
        branch -= count
    return ""


def _state(state: State, _: Scope, token: Token) -> Json:
    data = state.scopes[ROOT].data
    return data if token.fault is None else {**data, "_last_error": fault_json(token.fault)}


def _nodes(state: State, scope: Scope, _: Token) -> Json:
    if scope.group == 0:
        return scope.nodes
    outer = state.scopes.get(state.groups[scope.group].scope)
    around = _nodes(state, outer, _) if outer is not None else {}
    return {**around, **scope.nodes}


def _iteration(state: State, scope: Scope, loop: str) -> int:
    while loop not in scope.loops and scope.group != 0:
        scope = state.scopes[state.groups[scope.group].scope]
    return scope.loops.get(loop, 0) + 1


def _errors(state: State, scope: Scope, token: Token) -> Json:
    if scope.group == 0:
        return scope.errors
    outer = state.scopes.get(state.groups[scope.group].scope)
    return {**(_errors(state, outer, token) if outer is not None else {}), **scope.errors}


_ABSENT: Any = object()

_VARIABLES: dict[str, Callable[[State, Scope, Token], Json]] = {
    "input": lambda state, _, __: state.input,
    "output": lambda _, __, token: token.output,
    "state": _state,
    "nodes": _nodes,
    "_branch": lambda state, scope, _: branch_variable(state, scope),
    "_branches": lambda state, _, __: state.branches,
    "_errors": _errors,
}
