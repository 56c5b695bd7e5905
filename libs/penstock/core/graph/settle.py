"""Drawing every consequence: until no token can move, no branch can close and no join is stuck."""

from __future__ import annotations

from itertools import islice
from typing import Any, TypeAlias

from penstock.core.graph.compensate import compensate_next
from penstock.core.graph.decision import Decision
from penstock.core.graph.fail import fail_node, fail_scope, settle_scope
from penstock.core.graph.fault import NodeFault
from penstock.core.graph.state import ROOT
from penstock.core.graph.synchronize import by_node, doomed, open_group
from penstock.core.graph.view import run_variables
from penstock.core.graph.visit import visit
from penstock.core.model.events import ArtifactsCommitted, Fault, RunClosed, RunCompleted, RunYielded, TimerCleared

Json: TypeAlias = Any


def settle(decision: Decision) -> None:
    hops = 0
    while _step(decision):
        pass
    while decision.ready or _turns(decision):
        before = len(decision.events)
        _begin(decision, decision.ready.popleft())
        hops += len(decision.events) > before
        while _step(decision):
            pass
        if hops >= decision.program.graph.limits.inline_hops and decision.ready:
            decision.emit(RunYielded())
            return
    _end(decision)


def _step(decision: Decision) -> bool:
    """One consequence other than beginning a node; False if there is none."""
    if decision.opened:
        open_group(decision, decision.state.groups[decision.opened.pop(0)])
    elif decision.failed:
        number, fault = decision.failed.pop(0)
        if number in decision.state.tokens:
            fail_node(decision, decision.state.tokens[number], fault)
    elif decision.broken:
        fail_scope(decision, *decision.broken.pop(0))
    elif decision.touched:
        settle_scope(decision, decision.touched.pop())
    else:
        return False
    return True


def _begin(decision: Decision, number: int) -> None:
    token = decision.state.tokens.get(number)
    if token is None or token.status != "ready" or doomed(decision, token.scope):
        return
    try:
        visit(decision, token)
    except NodeFault as problem:
        if number in decision.state.tokens:
            fail_node(decision, token, problem.fault(token))


def _turns(decision: Decision) -> bool:
    """Tokens held back at a node go on as others leave it; False if none can."""
    state = decision.state
    if state.paused or state.outcome is not None:
        return False
    for name, waiting in state.held.items():
        limit = decision.program.nodes[name].rule.parallelism or 0
        room = limit - state.running.get(name, 0)
        decision.ready.extend(islice(waiting, max(0, room)))
    return bool(decision.ready)


def _end(decision: Decision) -> None:
    state = decision.state
    if state.phase == "pending" or state.scopes[ROOT].open:
        return
    if state.outcome is None:
        _finish(decision)
    # Abandoned tokens, and those told to stop, hold up the close of the run; never its outcome.
    if not state.tokens and not compensate_next(decision) and state.phase != "closed":
        _close(decision)


def _close(decision: Decision) -> None:
    state = decision.state
    for timer in tuple(state.timers):
        decision.emit(TimerCleared(timer))
    if state.undoing is None:
        decision.emit(RunClosed())
    else:
        failed = any(done.status == "failed" for done in state.undo.values())
        fault = Fault("COMPENSATION_FAILED", "not everything could be undone") if failed else None
        decision.emit(RunClosed(undone=True, fault=fault))


def _finish(decision: Decision) -> None:
    """Nothing is open: the run's output, by its mapping or from its ends."""
    try:
        found = _output(decision)
    except NodeFault as problem:
        fail_scope(decision, ROOT, Fault(problem.code, problem.message, details=problem.details))
    else:
        decision.emit(RunCompleted(found))
        if decision.state.artifacts:
            decision.emit(ArtifactsCommitted())


def _output(decision: Decision) -> Json:
    program, state = decision.program, decision.state
    found: Json = by_node(state.scopes[ROOT].ends, program.order)
    if program.output is not None:
        seen = decision.loaded(program.output, run_variables(state, decision.now))
        found = decision.unwrap(program.output.evaluate(seen), "MAPPING_ERROR")
    if not decision.fits(program.output_schema, found):
        raise NodeFault("OUTPUT_SCHEMA", "the run's output does not fit its schema")
    return found
