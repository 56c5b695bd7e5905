"""The commands that change a running run's definition: a patch, and the way back to an earlier revision.

Every revision is what the ones before it made of the definition that the run is pinned to; it is checked like any
definition that is registered, and against what the run is doing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias, cast

from penstock.core.definition.patch import PatchError, apply, diff
from penstock.core.definition.problem import DefinitionInvalid, Problem
from penstock.core.graph.decision import Decision
from penstock.core.graph.errors import (
    DomainError,
    IllegalTransition,
    PatchConflict,
    PatchInvalid,
    RevisionConflict,
    UnknownTarget,
)
from penstock.core.graph.lifecycle import check_allowed
from penstock.core.graph.program import Program, Source
from penstock.core.graph.revise import adopt, carry_over, conflicts, reachable
from penstock.core.graph.state import State
from penstock.core.model.commands import DecidePatch, Patch, ProposePatch, Revert
from penstock.core.model.decider import Missing, Need
from penstock.core.model.events import Notice, PatchDecided, PatchProposed, RunPatched

Json: TypeAlias = Any

MAX_PATCHES: Final = 1_000
"""Of one version of the definition; the state keeps them all."""
MAX_PROPOSALS: Final = 100


def patch(decision: Decision, command: Patch) -> None:
    if command.id not in decision.state.seen:
        _revise(decision, _source(decision, command), command, command.operations)


def propose(decision: Decision, command: ProposePatch) -> None:
    """What could not be applied now is refused now."""
    if command.id in decision.state.seen:
        return
    source = _source(decision, command)
    if len(decision.state.proposals) >= MAX_PROPOSALS:
        raise DomainError(reason=f"{MAX_PROPOSALS} patches wait for approval already")
    _checked(decision, source, command.operations)
    decision.emit(PatchProposed(command.id, command.operations, command.by, command.note))


def decide_patch(decision: Decision, command: DecidePatch) -> None:
    state = decision.state
    if command.patch in state.decided:
        raise IllegalTransition(what=command.patch, now=state.decided[command.patch], asked=command.decision)
    if command.patch not in state.proposals:
        raise UnknownTarget(kind="proposed patch", name=command.patch)
    proposal = state.proposals[command.patch]
    if command.decision == "approved":
        approved = Patch(command.patch, proposal.operations, proposal.by, note=proposal.note)
        _revise(decision, _source(decision, approved), approved, approved.operations)
    decision.emit(PatchDecided(command.patch, command.decision, command.decided_by, command.comments))


def revert(decision: Decision, command: Revert) -> None:
    state = decision.state
    if command.id in state.seen:
        return
    source = _source(decision, command)
    if not state.base <= command.to_revision < state.revision:
        raise UnknownTarget(kind="earlier revision", name=command.to_revision)
    earlier = definition_of(decision, source, state.graph)
    for operations in state.patches[: command.to_revision - state.base]:
        earlier = apply(earlier, operations)
    _revise(decision, source, command, tuple(diff(source.definition, earlier)), command.to_revision)


def definition_of(decision: Decision, source: Source, key: str) -> Json:
    """Raises `Missing` if it has to be fetched; None if there is none."""
    facts = decision.facts.definitions
    found = facts[key] if key in facts else source.library.known(key)
    if found is None and key not in facts:
        raise Missing(Need(definitions=frozenset({key})))
    return found


def _source(decision: Decision, command: Patch | ProposePatch | Revert) -> Source:
    """What is to be changed, if anything may be."""
    state, source = decision.state, decision.program.source
    check_allowed(state, "patched")
    if state.outcome is not None:
        raise IllegalTransition(what="the run", now=state.outcome, asked="patched")
    if command.expected_revision not in {None, state.revision}:
        raise RevisionConflict(expected=command.expected_revision, revision=state.revision)
    if source is None:
        raise DomainError(reason="only what was compiled of its definition is at hand")
    return source


def _revise(
    decision: Decision,
    source: Source,
    command: Patch | Revert,
    operations: tuple[Json, ...],
    reverts: int | None = None,
) -> None:
    state, old = decision.state, decision.program
    new, compiled = _checked(decision, source, operations)
    begun, renewed = carry_over(state, old, new)
    warnings = (*_unreached(state, old, new), *_warnings(source, compiled))
    decision.emit(
        RunPatched(
            revision=state.revision + 1,
            definition=compiled.hash,
            operations=operations,
            patch=command.id,
            by=command.by,
            note=command.note,
            reverts=reverts,
            warnings=warnings,
            begun=begun,
            renewed=renewed,
        )
    )
    adopt(decision, new, renewed)


def _checked(decision: Decision, source: Source, operations: tuple[Json, ...]) -> tuple[Program, Source]:
    """Against the rules of definitions, and against what the run is doing."""
    if len(decision.state.patches) >= MAX_PATCHES:
        raise _invalid(_problem("PATCH_TOO_LARGE", f"this version has been patched {MAX_PATCHES:,} times already"))
    new, compiled = _compiled(source, operations)
    blocking = conflicts(decision.state, decision.program, new)
    if blocking:
        first = f"{blocking[0].node}: {blocking[0].reason}"
        raise PatchConflict(first=first, conflicts=[conflict._asdict() for conflict in blocking])
    return new, compiled


def _compiled(source: Source, operations: tuple[Json, ...]) -> tuple[Program, Source]:
    """Checked like any definition that is registered: everything that is wrong is listed."""
    try:
        new = source.library.compile(apply(source.definition, operations))
    except PatchError as error:
        path = error.attributes.get("path", "")
        raise _invalid(_problem(error.code, error.message, str(path), error.hint)) from error
    except DefinitionInvalid as error:
        raise _invalid(*cast("tuple[Problem, ...]", error.attributes["problems"])) from error
    return new, new.source or source


def _invalid(*problems: Problem) -> PatchInvalid:
    errors = [problem for problem in problems if problem.severity == "error"]
    return PatchInvalid(count=len(errors), first=f"at {errors[0].path}: {errors[0].message}", problems=problems)


def _problem(code: str, message: str, path: str = "", hint: str = "") -> Problem:
    return Problem("error", code, path or "/", message, hint)


def _unreached(state: State, old: Program, new: Program) -> Iterable[Notice]:
    """New nodes that no open token can come to any more."""
    starts = {token.node for token in state.tokens.values() if not token.abandoned}
    starts |= {group.join.target for group in state.groups.values() if group.join is not None and not group.settled}
    reached = reachable(new, starts)
    for name in new.nodes:
        if name not in old.nodes and name not in reached:
            yield Notice("NODE_UNREACHED", f"/nodes/{name}", f"no open token can come to `{name}` any more")


def _warnings(old: Source, new: Source) -> Iterable[Notice]:
    """Of the check, where they are news."""
    known = set(old.warnings)
    for problem in new.warnings:
        if problem not in known:
            yield Notice(problem.code, problem.path, problem.message)
