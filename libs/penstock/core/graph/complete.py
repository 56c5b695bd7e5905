"""A node has an output: schema, mapping, state schema, store, then routing."""

from __future__ import annotations

from typing import Any, TypeAlias

from penstock.core.graph.decision import Decision, NodeFault
from penstock.core.graph.route import route
from penstock.core.graph.state import ROOT, Token
from penstock.core.graph.view import variables
from penstock.core.model.evaluate import Change, Failure, apply_changes
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
    """Record the output and move on. Raises `NodeFault`; the output stands if it was recorded."""
    node = decision.node(token)
    changes = _changes(decision, token, output)
    _check(decision, token, output, changes)
    decision.emit(NodeCompleted(token.id, output, changes, metadata or {}, node.rule.compensate))
    if token.abandoned:
        decision.emit(TokenConsumed(token.id))
        decision.touched.append(token.scope)
        return
    scope = token.scope
    route(decision, token, next_nodes)
    decision.touched.append(scope)


def _changes(decision: Decision, token: Token, output: Json) -> tuple[Change, ...]:
    node = decision.node(token)
    if node.output is None:
        return ()
    seen = variables(decision.state, token, node.output_roots, decision.now) | {"output": output}
    changes = node.output.evaluate(seen)
    if isinstance(changes, Failure):
        raise NodeFault("MAPPING_ERROR", changes.message, cause=changes.code)
    return changes


def _check(decision: Decision, token: Token, output: Json, changes: tuple[Change, ...]) -> None:
    """Before anything is recorded: what would not fit is refused whole."""
    node = decision.node(token)
    if node.output_schema is not None and node.output_schema.evaluate({"output": output}) is not True:
        raise NodeFault("OUTPUT_SCHEMA", f"the output of {token.node} does not fit its schema")
    written = apply_changes(decision.scope(token).data, changes)
    if isinstance(written, Failure):
        raise NodeFault("MAPPING_ERROR", written.message, cause=written.code)
    schema = decision.program.state_schema
    if changes and schema is not None and token.scope == ROOT and schema.evaluate({"output": written}) is not True:
        raise NodeFault("STATE_SCHEMA", f"the state after {token.node} does not fit its schema")
