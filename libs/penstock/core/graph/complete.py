"""A node has an output: schema, mapping, state schema, store, then routing."""

from __future__ import annotations

from typing import Any, TypeAlias

from penstock.core.graph.decision import Decision, NodeFault
from penstock.core.graph.route import route
from penstock.core.graph.state import Token
from penstock.core.graph.synchronize import check_writes
from penstock.core.graph.view import variables
from penstock.core.model.evaluate import Change, Failure
from penstock.core.model.events import NodeCompleted, TokenConsumed

Json: TypeAlias = Any


def complete(
    decision: Decision,
    token: Token,
    output: Json,
    *,
    next_nodes: tuple[str, ...] | None = None,
    metadata: dict[str, Json] | None = None,
) -> None:
    """Record the output and move on. Raises `NodeFault`; what was done stands all the same, and can be undone."""
    undo = decision.node(token).rule.compensate
    if token.abandoned:
        decision.emit(NodeCompleted(token.id, output, (), metadata or {}, undo, applied=False))
        decision.emit(TokenConsumed(token.id))
        decision.touched.append(token.scope)
        return
    try:
        changes = _changes(decision, token, output)
    except NodeFault:
        decision.emit(NodeCompleted(token.id, output, (), metadata or {}, undo, applied=False))
        raise
    decision.emit(NodeCompleted(token.id, output, changes, metadata or {}, undo))
    scope = token.scope
    route(decision, token, next_nodes)
    decision.touched.append(scope)


def _changes(decision: Decision, token: Token, output: Json) -> tuple[Change, ...]:
    """Output schema, output mapping, state schema, before anything is stored: what does not fit is refused whole."""
    node = decision.node(token)
    if node.output_schema is not None and node.output_schema.evaluate({"output": output}) is not True:
        raise NodeFault("OUTPUT_SCHEMA", f"the output of {token.node} does not fit its schema")
    if node.output is None:
        return ()
    seen = variables(decision.state, token, node.output_roots, decision.now, node.loops) | {"output": output}
    changes = node.output.evaluate(seen)
    if isinstance(changes, Failure):
        raise NodeFault("MAPPING_ERROR", changes.message, cause=changes.code)
    check_writes(decision, decision.scope(token), changes)
    return changes
