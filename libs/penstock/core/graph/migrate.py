"""A migration: its transform has run, and the run goes on by another version of its workflow.

The transform is given `{input, state, nodes}` and answers `{state, payload}`, each optional: the new `state` of the
run, whole, and what its token carries on. The token is routed from the node of the same name in the new version, as if
that had just completed; if there is none, it comes to the node `resume_at`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET

from penstock.core.definition.problem import DefinitionInvalid
from penstock.core.graph.complete import Result, complete
from penstock.core.graph.decision import Decision
from penstock.core.graph.fault import NodeFault
from penstock.core.graph.patch import definition_of
from penstock.core.graph.program import Program
from penstock.core.graph.reference import load
from penstock.core.graph.revise import adopt, carry_over, conflicts
from penstock.core.graph.state import ROOT, Token
from penstock.core.model.events import NodeCompleted, RunMigrated, TokenConsumed, TokenCreated
from penstock.core.model.graph import MigrationRule

Json: TypeAlias = Any

_HASH = "sha256:"


def migrate(decision: Decision, token: Token, output: Json, metadata: dict[str, Json]) -> None:
    """Raises `NodeFault`, having changed nothing, and `Missing` if the version has to be fetched."""
    state, old = decision.state, decision.program
    rule = decision.node(token).rule.migration
    if rule is None:
        raise NodeFault("MIGRATION_VERSION", f"{token.node} does not say to which version")
    handed = _handed(decision, output)
    new = _version(decision, rule)
    resume = None if token.node in new.nodes else rule.resume_at
    if token.node not in new.nodes and resume not in new.nodes:
        message = f"version {rule.to_version} has neither {token.node} nor a node to resume at"
        raise NodeFault("MIGRATION_RESUME", message, resume_at=resume)
    blocking = conflicts(state, old, new, leaving=token.id)
    if blocking:
        message = f"{blocking[0].node}: {blocking[0].reason}"
        raise NodeFault("MIGRATION_CONFLICT", message, conflicts=[conflict._asdict() for conflict in blocking])
    if not decision.fits(new.state_schema, handed.get("state", state.scopes[ROOT].data)):
        raise NodeFault("STATE_SCHEMA", f"the state does not fit the schema of version {rule.to_version}")
    begun, renewed = carry_over(state, old, new, leaving=token.id)
    decision.emit(
        RunMigrated(
            token=token.id,
            revision=state.revision + 1,
            definition=new.source.hash if new.source else "",
            version=rule.to_version,
            state=handed.get("state", UNSET),
            begun=begun,
            renewed=renewed,
        )
    )
    adopt(decision, new, renewed)
    payload = handed.get("payload", token.payload)
    if resume is None:
        complete(decision, token, Result(payload, metadata=metadata))
    else:
        _resume_at(decision, token, resume, payload, metadata)


def version_key(workflow: str, version: str) -> str:
    """Under which a version is looked up: its content hash, or `workflow@version`."""
    return version if version.startswith(_HASH) else f"{workflow}@{version}"


def _handed(decision: Decision, output: Json) -> dict[str, Json]:
    """What the transform answers; only what has to be looked into is loaded."""
    handed = load({"output": output}, [("output", "state", "")], decision.facts.blobs, whole=False)["output"]
    if not isinstance(handed, dict) or not handed.keys() <= {"state", "payload"}:
        raise NodeFault("MIGRATION_OUTPUT", "a transform answers an object with `state` and `payload`, or one of them")
    if not isinstance(handed.get("state", {}), dict):
        raise NodeFault("MIGRATION_OUTPUT", "the `state` that a transform answers is an object")
    return handed


def _version(decision: Decision, rule: MigrationRule) -> Program:
    source = decision.program.source
    if source is None:
        raise NodeFault("MIGRATION_VERSION", "only what was compiled of the definition is at hand")
    definition = definition_of(decision, source, version_key(decision.state.workflow, rule.to_version))
    if definition is None:
        raise NodeFault("MIGRATION_VERSION", f"there is no version {rule.to_version}", version=rule.to_version)
    try:
        return source.library.compile(definition)
    except DefinitionInvalid as error:
        raise NodeFault("MIGRATION_VERSION", error.message, version=rule.to_version) from error


def _resume_at(decision: Decision, token: Token, node: str, payload: Json, metadata: dict[str, Json]) -> None:
    decision.emit(NodeCompleted(token.id, payload, (), metadata))
    created, scope = decision.new_token(), token.scope
    decision.emit(TokenCreated(created, node, scope, token.hop + 1, "migration", token.id))
    decision.emit(TokenConsumed(token.id))
    decision.ready.append(created)
    decision.touched.append(scope)
