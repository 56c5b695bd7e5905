"""Drawing every consequence: until no token can move, no branch can close and no join is stuck."""

from __future__ import annotations

from typing import Any, TypeAlias

from penstock.core.graph.compensate import compensate_next
from penstock.core.graph.decision import Decision, NodeFault
from penstock.core.graph.fail import fail_node, fail_scope, settle_scope
from penstock.core.graph.state import ROOT, State
from penstock.core.graph.synchronize import doomed, open_group
from penstock.core.graph.view import run_variables
from penstock.core.graph.visit import visit
from penstock.core.model.evaluate import Failure
from penstock.core.model.events import Fault, RunClosed, RunCompleted, RunYielded

Json: TypeAlias = Any


def settle(decision: Decision) -> None:
    hops = 0
    while _step(decision):
        pass
    while decision.ready:
        _begin(decision, decision.ready.popleft())
        hops += 1
        while _step(decision):
            pass
        if hops >= decision.program.graph.limits.inline_hops and decision.ready:
            decision.emit(RunYielded())
            return
        if not decision.ready:
            _turns(decision)
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


def _turns(decision: Decision) -> None:
    """Tokens held back at a node go on as others leave it."""
    state = decision.state
    for name, waiting in state.held.items():
        limit = decision.program.nodes[name].rule.parallelism or 0
        room = limit - state.running.get(name, 0)
        alive = [number for number in waiting if number in state.tokens]
        decision.ready.extend(alive[: max(0, room)])


def _end(decision: Decision) -> None:
    state = decision.state
    if state.status in {"closed", "pending"} or state.scopes[ROOT].open:
        return
    if state.outcome is None:
        _finish(decision)
    if state.outcome is not None and not compensate_next(decision) and not state.scopes[ROOT].open:
        decision.emit(RunClosed())


def _finish(decision: Decision) -> None:
    """Nothing is open: the run's output, by its mapping or from its ends."""
    output = decision.program.output
    found = (
        output.evaluate(run_variables(decision.state, decision.now))
        if output
        else ends(decision.state, decision.program.order)
    )
    if isinstance(found, Failure):
        fail_scope(decision, ROOT, Fault("MAPPING_ERROR", found.message, details={"cause": found.code}))
    else:
        decision.emit(RunCompleted(found))


def ends(state: State, order: dict[str, int]) -> Json:
    """The output of the one terminal completion; with several, by node as declared, a list where one ended twice."""
    if len(state.ends) == 1:
        return state.ends[0][1]
    by_node: dict[str, list[Json]] = {}
    for node, output in sorted(state.ends, key=lambda end: order.get(end[0], len(order))):
        by_node.setdefault(node, []).append(output)
    return {node: outputs[0] if len(outputs) == 1 else outputs for node, outputs in by_node.items()}
