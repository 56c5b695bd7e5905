"""A node failed: again later, caught by a transition, or the scope fails, and so on outward to the run."""

from __future__ import annotations

from typing import Any, TypeAlias

from penstock.core.graph.backoff import delay
from penstock.core.graph.decision import Decision
from penstock.core.graph.fault import NodeFault
from penstock.core.graph.route import leave_loops, matches, route, take
from penstock.core.graph.state import ROOT, Token
from penstock.core.graph.synchronize import cancel_token, close_branch, doomed, stop_work, tokens_within, unblock
from penstock.core.model.events import (
    Fault,
    IncidentRaised,
    NodeFailed,
    Outcome,
    RunEnding,
    TaskExhausted,
    TaskFailed,
    TaskRetryScheduled,
    TokenAbandoned,
    TokenConsumed,
    TokenParked,
)

Json: TypeAlias = Any

GRACE = 30_000
"""Milliseconds that running work has after the outcome is known."""

TASK_TIMEOUT = "TASK_TIMEOUT"

RUN_LIMITS = frozenset(
    f"LIMIT_{name}" for name in ("MAX_HOPS", "MAX_FANOUT", "MAX_TOKENS", "MAX_STATE_BYTES", "MAX_BYTES", "MAX_DEPTH")
)
"""Crossing one fails the run: no transition catches it."""


def fail_attempt(decision: Decision, token: Token, fault: Fault) -> None:
    """An attempt failed; perhaps there is another."""
    rule = decision.node(token).rule
    decision.clear_timers(token, keep="node_deadline")
    decision.emit(TaskFailed(token.id, fault))
    if fault.code == TASK_TIMEOUT:  # whoever has it must stop, and what it did is not known
        stop_work(decision, token)
    if token.abandoned or doomed(decision, token.scope):
        decision.emit(TokenConsumed(token.id))
        decision.touched.append(token.scope)
    elif fault.retryable and token.attempt < rule.retry.max_attempts:
        due = decision.in_ms(delay(rule.retry, token.id, token.attempt))
        decision.emit(TaskRetryScheduled(token.id, token.attempt + 1, due))
        decision.set_timer(due, "retry", token=token)
    elif rule.on_exhausted == "park":
        decision.clear_timers(token)
        decision.emit(
            TaskExhausted(token.id, token.node, decision.begun(token).queue, token.attempt, fault, parked=True)
        )
        decision.emit(TokenParked(token.id, fault))
        decision.emit(IncidentRaised(fault, token.id))
    else:
        decision.emit(TaskExhausted(token.id, token.node, decision.begun(token).queue, token.attempt, fault))
        fail_node(decision, token, fault)


def fail_node(decision: Decision, token: Token, fault: Fault) -> None:
    """For good. A transition may catch it; a plain one never does."""
    decision.clear_timers(token)
    decision.emit(NodeFailed(token.id, fault))
    if fault.code in RUN_LIMITS and decision.state.outcome is None:
        decision.emit(TokenConsumed(token.id))
        end_run(decision, "failed", fault)
    else:
        catch(decision, token, fault)


def route_again(decision: Decision, token: Token, *, failed: bool) -> None:
    """Routing goes on where user code was asked, or starts over where the ways have changed."""
    if failed and token.fault is not None:
        catch(decision, token, token.fault)
        return
    scope = token.scope
    try:
        route(decision, token, token.question.next_nodes if token.question else None)
        decision.touched.append(scope)
    except NodeFault as problem:
        fail_node(decision, token, problem.fault(token))


def catch(decision: Decision, token: Token, fault: Fault) -> None:
    """Let a transition take the failed token on; else its scope fails."""
    node, scope = decision.node(token), token.scope
    try:
        caught = [] if doomed(decision, scope) else matches(decision, token, node, node.error_ways, failed=True)
        if caught is None:
            return
        if caught:
            take(decision, token, caught)
            decision.touched.append(scope)
            return
    except NodeFault as problem:
        fault = problem.fault(token)
    decision.emit(TokenConsumed(token.id))
    fail_scope(decision, scope, fault)


def fail_scope(decision: Decision, number: int, fault: Fault) -> None:
    """An uncaught failure takes the rest of its scope with it."""
    if doomed(decision, number):
        decision.touched.append(number)
        return
    if number == ROOT:
        end_run(decision, "failed", fault)
        return
    for token in tokens_within(decision, [number]):
        cancel_token(decision, token, "its branch failed")
    decision.failing[number] = fault
    decision.touched.append(number)


def end_run(decision: Decision, outcome: Outcome, fault: Fault | None = None) -> None:
    """The outcome is known. What runs is told and may report for a while; everything else ends at once."""
    decision.emit(RunEnding(outcome, fault))
    for token in tuple(decision.state.tokens.values()):
        if token.status in {"running", "child"}:
            stop_work(decision, token)
            decision.emit(TokenAbandoned(token.id))
        else:
            cancel_token(decision, token, f"the run {outcome}")
    if decision.state.tokens:
        decision.set_timer(decision.in_ms(GRACE), "cancel_grace")
    decision.touched.append(ROOT)


def force(decision: Decision) -> None:
    """The grace is over."""
    for token in tuple(decision.state.tokens.values()):
        cancel_token(decision, token, "it did not answer in time")


def settle_scope(decision: Decision, number: int) -> bool:
    """Close the branch if nothing is open in it; True if it did."""
    scope = decision.state.scopes.get(number)
    if scope is None:
        return False
    leave_loops(decision, scope)
    if number == ROOT or scope.open:
        unblock(decision, scope)
        return False
    close_branch(decision, scope, decision.failing.pop(number, None))
    return True
