"""A token begins its node: dispatched to a queue, asked of a person, handed to a child, or done on the spot."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeAlias

from msgspec import UNSET

from penstock.core.graph.complete import Result, complete
from penstock.core.graph.decision import QUEUE_TIMEOUT, TASK_MARGIN, Decision
from penstock.core.graph.fault import NodeFault
from penstock.core.graph.memo import memo_key, memoized
from penstock.core.graph.state import Signal, Token
from penstock.core.graph.synchronize import arrive
from penstock.core.graph.view import variables
from penstock.core.model.events import (
    ApprovalRequested,
    ChildStarted,
    NodeDispatched,
    NodeRecalled,
    SignalAwaited,
    SignalConsumed,
    TokenHeld,
)
from penstock.core.model.time import SECOND, Instant

Json: TypeAlias = Any


def visit(decision: Decision, token: Token) -> None:
    """Begin. Raises `NodeFault` if the node cannot even begin."""
    node = decision.node(token)
    rule = node.rule
    if token.origin in node.waits_for and not token.back and not token.instance:
        arrive(decision, token)
        return
    if _not_yet(decision, token):
        return
    _check_limits(decision, token)
    if rule.behaviour in _BEGIN:
        if decision.state.paused:
            return
        if token.attempt == 0 and _crowded(decision, token):
            if token.id not in decision.state.held.get(token.node, {}):
                decision.emit(TokenHeld(token.id))
            return
        _BEGIN[rule.behaviour](decision, token)
        return
    if rule.behaviour == "wait":
        _wait(decision, token)
    elif node.value is not None:
        complete(decision, token, Result(decision.value(node.value, token, "MAPPING_ERROR")))
    else:
        mapped = given(decision, token)
        complete(decision, token, Result(token.payload if mapped is UNSET else mapped))


def dispatch(decision: Decision, token: Token, mapped: Json = UNSET) -> None:
    rule = decision.node(token).rule
    attempt = token.attempt + 1
    decision.emit(NodeDispatched(token.id, attempt, mapped))
    if rule.timeout is not None:
        patience = rule.timeout + (QUEUE_TIMEOUT if rule.queue_timeout is None else rule.queue_timeout) + TASK_MARGIN
        decision.set_timer(decision.in_ms(patience), "task", token=token)
    if attempt == 1:
        _limit_all_attempts(decision, token)


def _limit_all_attempts(decision: Decision, token: Token) -> None:
    deadline = decision.node(token).rule.deadline
    if deadline is not None:
        decision.set_timer(decision.in_ms(deadline), "node_deadline", token=token)


def given(decision: Decision, token: Token) -> Json:
    """The node's input, if a mapping makes it; unset if it is the payload."""
    node = decision.node(token)
    mapped = UNSET if node.input is None else decision.value(node.input, token, "MAPPING_ERROR")
    value = token.payload if mapped is UNSET else mapped
    if node.input_schema is not None and not decision.fits(node.input_schema, value):
        raise NodeFault("INPUT_SCHEMA", f"the input of {token.node} does not fit its schema")
    return mapped


def take_signal(decision: Decision, token: Token) -> bool:
    """Give the token the oldest signal it waits for, if there is one."""
    node = decision.node(token)
    wait = node.rule.wait
    for signal in decision.state.signals:
        if wait is not None and signal.name == wait.signal and _matches(decision, token, signal):
            decision.clear_timers(token)
            decision.emit(SignalConsumed(signal.id, token.id))
            complete(decision, token, Result(signal.payload))
            return True
    return False


def _matches(decision: Decision, token: Token, signal: Signal) -> bool:
    match = decision.node(token).match
    return match is None or match.evaluate(decision.seen(match, token, {"output": signal.payload})) is True


def _work(decision: Decision, token: Token) -> None:
    """A task, unless the same work was done before."""
    rule = decision.node(token).rule
    if token.attempt > 0:
        dispatch(decision, token)
        return
    mapped = given(decision, token)
    if memoized(rule):
        key = memo_key(rule, token.payload if mapped is UNSET else mapped)
        memo = decision.recall(key)
        if memo is not None:
            decision.emit(NodeRecalled(token.id, key, mapped))
            complete(decision, token, Result(memo.output, done=False))
            return
    dispatch(decision, token, mapped)


def _transform(decision: Decision, token: Token) -> None:
    """Of a migration: it is given the run's data, unless its node maps its input."""
    rule, version = decision.node(token).rule.migration, decision.program.graph.version
    if rule is not None and version and version != rule.from_version:
        message = f"this is version {version}, not {rule.from_version}"
        raise NodeFault("MIGRATION_VERSION", message, version=version)
    mapped = UNSET if token.attempt else given(decision, token)
    if mapped is UNSET and not token.attempt:
        mapped = variables(decision.state, token, frozenset({"input", "state", "nodes"}), decision.now)
    dispatch(decision, token, mapped)


def _ask(decision: Decision, token: Token) -> None:
    human = decision.node(token).rule.human
    due = decision.in_ms(human.timeout) if human and human.timeout is not None else None
    decision.emit(ApprovalRequested(f"{decision.state.run}.{token.id}", token.id, due, given(decision, token)))
    if due is not None:
        decision.set_timer(due, "approval", token=token)
    _limit_all_attempts(decision, token)


def _start_child(decision: Decision, token: Token) -> None:
    """Every attempt is a run of its own."""
    state, limits = decision.state, decision.program.graph.limits
    if state.depth >= limits.max_depth:
        raise NodeFault("LIMIT_MAX_DEPTH", f"children nest deeper than {limits.max_depth}", limit=limits.max_depth)
    mapped = given(decision, token) if token.attempt == 0 else UNSET
    decision.emit(ChildStarted(f"{state.run}.{token.id}.{token.attempt + 1}", token.id, mapped))
    if token.attempt == 1:
        _limit_all_attempts(decision, token)


def _wait(decision: Decision, token: Token) -> None:
    node = decision.node(token)
    wait = node.rule.wait
    if wait is None:
        complete(decision, token, Result(token.payload))
    elif wait.signal is not None:
        decision.emit(SignalAwaited(token.id, wait.signal))
        if take_signal(decision, token):
            return
        if wait.timeout is not None:
            decision.set_timer(decision.in_ms(wait.timeout), "signal", token=token)
        _limit_all_attempts(decision, token)
    else:
        due = decision.in_ms(wait.duration or 0)
        if node.value is not None:
            due = _moment(decision.value(node.value, token, "MAPPING_ERROR"))
        decision.emit(SignalAwaited(token.id, ""))
        decision.set_timer(due, "wait", token=token)
        _limit_all_attempts(decision, token)


def _moment(value: Json) -> Instant:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            moment = datetime.fromisoformat(value)
    except (TypeError, ValueError, OverflowError, OSError):
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
    if token.hop > limits.max_hops:
        raise NodeFault("LIMIT_MAX_HOPS", f"more than {limits.max_hops} hops", limit=limits.max_hops)
    if node_limit is not None and token.hop > node_limit:
        raise NodeFault("NODE_MAX_HOPS", f"more than {node_limit} hops to {token.node}", limit=node_limit)
    if len(decision.state.tokens) > limits.max_tokens:
        raise NodeFault("LIMIT_MAX_TOKENS", f"more than {limits.max_tokens} open tokens", limit=limits.max_tokens)


_BEGIN = {"task": _work, "human": _ask, "workflow": _start_child, "migration": _transform}
