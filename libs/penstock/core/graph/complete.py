"""A node has an output: schema, mapping, state schema, store, then routing."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import msgspec

from penstock.core.graph.decision import Decision
from penstock.core.graph.fault import NodeFault
from penstock.core.graph.memo import memo_key, memoized
from penstock.core.graph.route import route
from penstock.core.graph.state import Token
from penstock.core.graph.synchronize import UNDO_CHILD, check_writes
from penstock.core.model.evaluate import Change
from penstock.core.model.events import Artifact, ArtifactsStaged, NodeCompleted, TokenConsumed
from penstock.core.model.graph import CompensateRule, NodeRule

Json: TypeAlias = Any


class Result(NamedTuple):
    """What came of a visit."""

    output: Json
    next_nodes: tuple[str, ...] | None = None
    metadata: dict[str, Json] = {}  # noqa: RUF012 - never written to
    artifacts: tuple[Artifact, ...] = ()
    done: bool = True
    """Work was done, and may have to be undone."""


def complete(decision: Decision, token: Token, result: Result) -> None:
    """Record the output and move on. Raises `NodeFault`; what was done stands all the same, and can be undone."""
    output, metadata = result.output, result.metadata
    rule = decision.begun(token)
    undo = _undo(rule) if result.done else None
    if token.abandoned:
        decision.emit(NodeCompleted(token.id, output, (), metadata, undo, applied=False))
        decision.emit(TokenConsumed(token.id))
        decision.touched.append(token.scope)
        return
    try:
        changes = _changes(decision, token, output)
        size = _size(decision, output)
        _check_artifacts(decision, result.artifacts)
    except NodeFault:
        decision.emit(NodeCompleted(token.id, output, (), metadata, undo, applied=False))
        raise
    memo = memo_key(rule, token.given) if result.done and memoized(rule) else ""
    decision.emit(NodeCompleted(token.id, output, changes, metadata, undo, bytes=size, memo=memo))
    if result.artifacts:
        decision.emit(ArtifactsStaged(token.id, result.artifacts))
    scope = token.scope
    route(decision, token, result.next_nodes)
    decision.touched.append(scope)


def _undo(rule: NodeRule) -> CompensateRule | None:
    return rule.compensate or (UNDO_CHILD if rule.behaviour == "workflow" else None)


def _check_artifacts(decision: Decision, artifacts: tuple[Artifact, ...]) -> None:
    """Types that the definition declares are checked; in one that declares none, anything may be staged."""
    declared = decision.program.artifacts
    for artifact in artifacts:
        if declared and artifact.type not in declared:
            raise NodeFault("ARTIFACT_TYPE", f"no artifact type {artifact.type!r} is declared", artifact=artifact.name)
        if not decision.fits(declared.get(artifact.type), artifact.metadata):
            message = f"the metadata of {artifact.name} does not fit its type"
            raise NodeFault("ARTIFACT_TYPE", message, artifact=artifact.name)


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
