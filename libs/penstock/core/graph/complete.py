"""A node has an output: schema, mapping, state schema, store, then routing."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from penstock.core.graph.decision import Decision
from penstock.core.graph.fault import NodeFault
from penstock.core.graph.memo import memo_key
from penstock.core.graph.route import route
from penstock.core.graph.state import Token
from penstock.core.graph.synchronize import UNDO_CHILD, check_writes
from penstock.core.model.evaluate import Change
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
    rule = decision.begun(token)
    undo = rule.compensate or (UNDO_CHILD if rule.behaviour == "workflow" else None)
    if token.abandoned:
        decision.emit(NodeCompleted(token.id, output, (), metadata or {}, undo, applied=False))
        decision.emit(TokenConsumed(token.id))
        decision.touched.append(token.scope)
        return
    try:
        changes = _changes(decision, token, output)
        size = _size(decision, output)
    except NodeFault:
        decision.emit(NodeCompleted(token.id, output, (), metadata or {}, undo, applied=False))
        raise
    memo = memo_key(rule, token.given) if rule.memoize else ""
    decision.emit(NodeCompleted(token.id, output, changes, metadata or {}, undo, bytes=size, memo=memo))
    scope = token.scope
    route(decision, token, next_nodes)
    decision.touched.append(scope)


def _changes(decision: Decision, token: Token, output: Json) -> tuple[Change, ...]:
    """Output schema, output mapping, state schema, before anything is stored: what does not fit is refused whole."""
    node = decision.node(token)
    if node.output_schema is not None and not decision.fits(node.output_schema, output):
        raise NodeFault("OUTPUT_SCHEMA", f"the output of {token.node} does not fit its schema")
    if node.output is None:
        return ()
    changes: tuple[Change, ...] = decision.value(node.output, token, "MAPPING_ERROR", output=output)
    check_writes(decision, decision.scope(token), changes)
    return changes


def _size(decision: Decision, output: Json) -> int:
    """Only where the run's bytes are counted."""
    limit = decision.program.graph.limits.max_bytes
    if limit is None:
        return 0
    size = len(msgspec.json.encode(output))
    if decision.state.bytes + size > limit:
        raise NodeFault("LIMIT_MAX_BYTES", f"more than {limit} bytes of output", limit=limit)
    return size
