"""A token begins its node: dispatched to a queue, asked of a person, handed to a child, or done on the spot."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeAlias

from msgspec import UNSET

from penstock.core.graph.complete import complete
from penstock.core.graph.decision import Decision, NodeFault
from penstock.core.graph.state import Signal, Token
from penstock.core.graph.synchronize import arrive
from penstock.core.model.events import (
    ApprovalRequested,
    ChildStarted,
    NodeDispatched,
    SignalAwaited,
    SignalConsumed,
    TokenHeld,
)
from penstock.core.model.time import SECOND, Instant

Json: TypeAlias = Any

_TASK_MARGIN = 5_000
"""How much longer than the worker the run itself waits, in milliseconds."""


def visit(decision: Decision, token: Token) -> None:
    """Begin. Raises `NodeFault` if the node cannot even begin."""
    node = decision.node(token)
    rule = node.rule
    if token.origin in node.waits_for and not token.back and not token.instance:
        arrive(decision, token)
        return
    _check_limits(decision, token)
    if rule.behaviour in {"task", "human", "workflow", "migration"}:
        if decision.state.paused or _not_yet(decision, token):
            return
        if _crowded(decision, token):
            decision.emit(TokenHeld(token.id))
            return
        _BEGIN[rule.behaviour](decision, token)
        return
    if rule.behaviour == "wait":
        _wait(decision, token)
    elif node.value is not None:
        complete(decision, token, decision.value(node.value, token, "MAPPING_ERROR"))
    else:
        mapped = given(decision, token)
        complete(decision, token, token.payload if mapped is UNSET else mapped)


def dispatch(decision: Decision, token: Token, attempt: int) -> None:
    rule = decision.node(token).rule
    mapped = given(decision, token) if attempt == 1 else UNSET
    decision.emit(NodeDispatched(token.id, attempt, mapped))
    if rule.timeout is not None:
        patience = rule.timeout + (rule.queue_timeout or 0) + _TASK_MARGIN
        decision.set_timer(decision.in_ms(patience), "task", token=token)
    if rule.deadline is not None and attempt == 1:
        decision.set_timer(decision.in_ms(rule.deadline), "node_deadline", token=token)


def given(decision: Decision, token: Token) -> Json:
    """The node's input, if a mapping makes it; unset if it is the payload."""
    mapping = decision.node(token).input
    return UNSET if mapping is None else decision.value(mapping, token, "MAPPING_ERROR")


def take_signal(decision: Decision, token: Token) -> bool:
    """Give the token the oldest signal it waits for, if there is one."""
    node = decision.node(token)
    wait = node.rule.wait
    for signal in decision.state.signals:
        if wait is not None and signal.name == wait.signal and _matches(decision, token, signal):
            decision.clear_timers(token)
            decision.emit(SignalConsumed(signal.id, token.id))
            complete(decision, token, signal.payload)
            return True
    return False


def _matches(decision: Decision, token: Token, signal: Signal) -> bool:
    match = decision.node(token).match
    if match is None:
        return True
    verdict = match.evaluate({"output": signal.payload, "input": decision.state.input})
    return verdict is True


def _dispatch_first(decision: Decision, token: Token) -> None:
    dispatch(decision, token, 1)


def _ask(decision: Decision, token: Token) -> None:
    human = decision.node(token).rule.human
    due = decision.in_ms(human.timeout) if human and human.timeout is not None else None
    decision.emit(ApprovalRequested(f"a{token.id}", token.id, due, given(decision, token)))
    if due is not None:
        decision.set_timer(due, "approval", token=token)


def _start_child(decision: Decision, token: Token) -> None:
    limits = decision.program.graph.limits
    if decision.state.depth >= limits.max_depth:
        raise NodeFault("LIMIT_MAX_DEPTH", f"children nest deeper than {limits.max_depth}", limit=limits.max_depth)
    decision.emit(ChildStarted(f"t{token.id}.{token.attempt + 1}", token.id, given(decision, token)))


def _wait(decision: Decision, token: Token) -> None:
    node = decision.node(token)
    wait = node.rule.wait
    if wait is None:
        complete(decision, token, token.payload)
    elif wait.signal is not None:
        decision.emit(SignalAwaited(token.id, wait.signal))
        if not take_signal(decision, token) and wait.timeout is not None:
            decision.set_timer(decision.in_ms(wait.timeout), "signal", token=token)
    else:
        due = decision.in_ms(wait.duration or 0)
        if node.value is not None:
            due = _moment(decision.value(node.value, token, "MAPPING_ERROR"))
        decision.emit(SignalAwaited(token.id, ""))
        decision.set_timer(due, "wait", token=token)


def _moment(value: Json) -> Instant:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Instant(round(value * SECOND))
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise NodeFault("MAPPING_ERROR", "`until` is neither a time nor seconds since the epoch") from None
    return Instant(round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * SECOND))


def _crowded(decision: Decision, token: Token) -> bool:
    """As many of its node as may be are under way."""
    limit = decision.node(token).rule.parallelism
    return limit is not None and decision.state.running.get(token.node, 0) >= limit


def _not_yet(decision: Decision, token: Token) -> bool:
    """Its branch's turn comes when earlier ones have closed."""
    scope = decision.scope(token)
    if scope.group == 0:
        return False
    group = decision.state.groups[scope.group]
    first = token.id == group.first_token + scope.branch
    closed = group.total - group.open
    return first and group.max_parallel is not None and scope.branch >= group.max_parallel + closed


def _check_limits(decision: Decision, token: Token) -> None:
    limits = decision.program.graph.limits
    node_limit = decision.node(token).rule.max_hops
    if token.hop > limits.max_hops or (node_limit is not None and token.hop > node_limit):
        limit = min(limits.max_hops, node_limit or limits.max_hops)
        raise NodeFault("LIMIT_MAX_HOPS", f"more than {limit} hops", limit=limit)
    if len(decision.state.tokens) > limits.max_tokens:
        raise NodeFault("LIMIT_MAX_TOKENS", f"more than {limits.max_tokens} open tokens", limit=limits.max_tokens)


_BEGIN = {"task": _dispatch_first, "human": _ask, "workflow": _start_child, "migration": _dispatch_first}
