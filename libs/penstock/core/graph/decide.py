"""The graph decider: a command in, events out. Pure, but for the state it is given, which it moves along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from penstock.core.graph.compensate import end_compensation
from penstock.core.graph.complete import complete
from penstock.core.graph.decision import Decision, NodeFault
from penstock.core.graph.effects import nonce
from penstock.core.graph.errors import IllegalTransition, SignalsFull, UnknownTarget
from penstock.core.graph.fail import end_run, fail_attempt, fail_node, force
from penstock.core.graph.program import Program
from penstock.core.graph.route import check_choice
from penstock.core.graph.settle import settle
from penstock.core.graph.state import ROOT, State, Timer, Token
from penstock.core.graph.synchronize import fail_join, fire
from penstock.core.graph.visit import dispatch, take_signal
from penstock.core.model import commands as c
from penstock.core.model import events as e
from penstock.core.model.time import Instant

Json: TypeAlias = Any

SIGNAL_LIMIT = 1_000


def decide(program: Program, state: State, command: c.Command, now: Instant) -> list[e.Event]:
    """The events that follow from `command`; `state` has them applied. May raise `DomainError`, having done nothing."""
    decision = Decision(program, state, now)
    _HANDLERS[type(command)](decision, command)
    settle(decision)
    return decision.events


def _start(decision: Decision, command: c.Start) -> None:
    graph = decision.program.graph
    if decision.state.status != "pending":
        return  # started already: starting twice is one run
    decision.emit(
        e.RunStarted(
            workflow=command.workflow,
            graph=command.graph,
            input=command.input,
            engine=decision.program.engine,
            seed=command.seed,
            state=dict(graph.state or {}),
            submitted_by=command.submitted_by,
            labels=command.labels,
            parent=command.parent,
            depth=command.depth,
        )
    )
    if graph.deadline is not None:
        decision.set_timer(decision.in_ms(graph.deadline), "run_deadline")
    for entry in graph.entries:
        token = decision.new_token()
        decision.emit(e.TokenCreated(token, entry, ROOT, 1, "start", payload=command.input))
        decision.ready.append(token)


def _task_result(decision: Decision, command: c.TaskResult) -> None:
    state = decision.state
    undo = next((done for done in state.undo if done.token == command.token and done.status == "running"), None)
    if undo is not None:
        if undo.attempt == command.attempt and command.nonce == nonce(state, command.token, command.attempt, undo=True):
            end_compensation(decision, undo, _fault_of(command, undo.node))
        return
    token = state.tokens.get(command.token)
    if token is None or token.status != "running" or token.attempt != command.attempt:
        _ignore(decision, command, "the task is not under way")
        return
    if command.nonce != nonce(state, command.token, command.attempt):
        _ignore(decision, command, "it does not carry the nonce of this attempt")
        return
    fault = _fault_of(command, token.node)
    if fault is not None:
        fail_attempt(decision, token, fault)
        return
    try:
        check_choice(decision.node(token), command.next_nodes)
    except NodeFault as problem:
        fail_attempt(decision, token, problem.fault(token))
        return
    decision.clear_timers(token)
    _complete(decision, token, command.output, command.next_nodes, command.metadata)


def _fault_of(command: c.TaskResult, node: str) -> e.Fault | None:
    if command.status == "completed":
        return None
    given = command.fault or e.Fault("TASK_FAILED", f"the worker reported {command.status}")
    return e.Fault(given.code, given.message, node, command.attempt, given.retryable, given.details)


def _complete(
    decision: Decision,
    token: Token,
    output: Json,
    next_nodes: tuple[str, ...] | None = None,
    metadata: dict[str, Json] | None = None,
) -> None:
    try:
        complete(decision, token, output, next_nodes=next_nodes, metadata=metadata)
    except NodeFault as problem:
        fail_node(decision, token, problem.fault(token))


def _ignore(decision: Decision, command: c.TaskResult, reason: str) -> None:
    decision.emit(e.ResultIgnored(command.token, command.attempt, reason))


def _parked(decision: Decision, number: int) -> Token:
    token = decision.state.tokens.get(number)
    if token is None or token.status != "parked":
        raise UnknownTarget(kind="parked token", name=number)
    return token


def _retry_parked(decision: Decision, command: c.RetryParked) -> None:
    token = _parked(decision, command.token)
    dispatch(decision, token, token.attempt + 1)


def _drop_parked(decision: Decision, command: c.DropParked) -> None:
    token = _parked(decision, command.token)
    fault = token.fault or e.Fault("DROPPED", "given up", token.node)
    fail_node(decision, token, fault)


def _fire_timer(decision: Decision, command: c.FireTimer) -> None:
    timer = decision.state.timers.get(command.timer)
    if timer is None:
        return  # cancelled, or fired before
    decision.emit(e.TimerFired(command.timer))
    _TIMERS[timer.purpose](decision, timer)


def _retry_due(decision: Decision, timer: Timer) -> None:
    token = decision.state.tokens[timer.token]
    dispatch(decision, token, token.attempt + 1)


def _task_overdue(decision: Decision, timer: Timer) -> None:
    token = decision.state.tokens[timer.token]
    message = "no answer within the time limit"
    fail_attempt(decision, token, e.Fault("TASK_TIMEOUT", message, token.node, token.attempt, retryable=True))


def _node_overdue(decision: Decision, timer: Timer) -> None:
    token = decision.state.tokens[timer.token]
    message = "all attempts together took too long"
    fail_node(decision, token, e.Fault("NODE_DEADLINE", message, token.node, token.attempt))


def _wait_over(decision: Decision, timer: Timer) -> None:
    token = decision.state.tokens[timer.token]
    _complete(decision, token, token.payload)


def _signal_overdue(decision: Decision, timer: Timer) -> None:
    token = decision.state.tokens[timer.token]
    wait = decision.node(token).rule.wait
    if wait is not None and wait.on_timeout == "continue":
        _complete(decision, token, token.payload)
    else:
        fail_node(decision, token, e.Fault("SIGNAL_TIMEOUT", "no signal came in time", token.node))


def _approval_overdue(decision: Decision, timer: Timer) -> None:
    token = decision.state.tokens[timer.token]
    human = decision.node(token).rule.human
    policy = human.on_timeout if human else "fail"
    if policy in {"approve", "reject"}:
        decided: Any = "approved" if policy == "approve" else "rejected"
        _decided(decision, token, c.DecideApproval(token.handle, decided, "timeout"))
    elif policy == "fail":
        decision.emit(e.ApprovalWithdrawn(token.handle))
        fail_node(decision, token, e.Fault("APPROVAL_TIMEOUT", "nobody decided in time", token.node))


def _join_overdue(decision: Decision, timer: Timer) -> None:
    group = decision.state.groups.get(timer.group)
    if group is None or group.settled or group.join is None:
        return
    if group.join.on_timeout == "proceed_with_available":
        fire(decision, group, group.join)
    else:
        fault = e.Fault("JOIN_TIMEOUT", f"the branches of {group.name} took too long", group.join.target)
        fail_join(decision, group, group.join, fault)


def _deadline(decision: Decision, _: Timer) -> None:
    if decision.state.outcome is None:
        end_run(decision, "timed_out", e.Fault("RUN_DEADLINE", "the run took too long"))


def _grace_over(decision: Decision, _: Timer) -> None:
    force(decision)


def _send_signal(decision: Decision, command: c.SendSignal) -> None:
    state = decision.state
    if command.signal in state.seen:
        return
    _check_open(state, "signalled")
    if len(state.signals) >= SIGNAL_LIMIT:
        raise SignalsFull(limit=SIGNAL_LIMIT)
    decision.emit(e.SignalReceived(command.signal, command.name, command.payload))
    waiting = [token for token in state.tokens.values() if token.status == "waiting" and token.handle == command.name]
    for token in sorted(waiting, key=lambda token: token.id):
        try:
            if take_signal(decision, token):
                return
        except NodeFault as problem:
            fail_node(decision, token, problem.fault(token))
            return


def _decide_approval(decision: Decision, command: c.DecideApproval) -> None:
    state = decision.state
    if command.approval in state.decided:
        raise IllegalTransition(what=command.approval, now=state.decided[command.approval], asked=command.decision)
    if command.approval not in state.approvals:
        raise UnknownTarget(kind="approval", name=command.approval)
    _decided(decision, state.tokens[state.approvals[command.approval]], command)


def _decided(decision: Decision, token: Token, command: c.DecideApproval) -> None:
    human = decision.node(token).rule.human
    decision.clear_timers(token)
    decision.emit(
        e.ApprovalDecided(
            command.approval, command.decision, command.decided_by, decision.now, command.comments, command.data
        )
    )
    given = token.input if token.mapped else token.payload
    output = {
        **(given if isinstance(given, dict) else {"input": given}),
        "decision": command.decision,
        "comments": command.comments,
        "decided_by": command.decided_by,
        "decided_at": decision.now,
    }
    if command.decision == "rejected" and (human is None or human.rejection_path is None):
        fail_node(decision, token, e.Fault("REJECTED", f"rejected by {command.decided_by}", token.node))
        return
    path = human.rejection_path if human and command.decision == "rejected" else None
    _complete(decision, token, output, path)


def _end_child(decision: Decision, command: c.EndChild) -> None:
    state = decision.state
    number = state.children.get(command.child)
    if number is None:
        return
    decision.emit(e.ChildEnded(command.child, command.outcome))
    token = state.tokens[number]
    child = decision.node(token).rule.child
    if command.outcome == "completed":
        _complete(decision, token, command.output)
    elif child is not None and child.on_failure == "catch":
        error = None if command.fault is None else {"code": command.fault.code, "message": command.fault.message}
        _complete(decision, token, {"status": command.outcome, "error": error})
    else:
        cause = command.fault.code if command.fault else command.outcome
        details = {"run_id": command.child, "cause": cause}
        fault = e.Fault("CHILD_FAILED", f"child {command.child} {command.outcome}", token.node, details=details)
        fail_node(decision, token, fault)


def _cancel(decision: Decision, command: c.Cancel) -> None:
    state = decision.state
    if state.outcome is not None:
        if state.status == "closed":
            raise IllegalTransition(what="the run", now="closed", asked="cancelled")
        return
    if state.status == "pending":
        raise UnknownTarget(kind="run", name="")
    end_run(decision, "cancelled", e.Fault("CANCELLED", command.reason or "cancelled"))


def _pause(decision: Decision, _: c.Pause) -> None:
    state = decision.state
    if state.status in {"closed", "compensating", "pending"}:
        raise IllegalTransition(what="the run", now=state.status, asked="paused")
    if not state.paused:
        decision.emit(e.RunPaused())


def _resume(decision: Decision, _: c.Resume) -> None:
    state = decision.state
    if not state.paused:
        raise IllegalTransition(what="the run", now=state.status, asked="running")
    decision.emit(e.RunResumed())
    decision.ready.extend(sorted(token.id for token in state.tokens.values() if token.status == "ready"))


def _continue(decision: Decision, _: c.Continue) -> None:
    tokens = decision.state.tokens.values()
    decision.ready.extend(sorted(token.id for token in tokens if token.status == "ready"))


def _check_open(state: State, asked: str) -> None:
    if state.status in {"closed", "pending"}:
        raise IllegalTransition(what="the run", now=state.status, asked=asked)


_HANDLERS: dict[type[c.Command], Callable[[Decision, Any], None]] = {
    c.Start: _start,
    c.TaskResult: _task_result,
    c.RetryParked: _retry_parked,
    c.DropParked: _drop_parked,
    c.FireTimer: _fire_timer,
    c.SendSignal: _send_signal,
    c.DecideApproval: _decide_approval,
    c.EndChild: _end_child,
    c.Cancel: _cancel,
    c.Pause: _pause,
    c.Resume: _resume,
    c.Continue: _continue,
}

_TIMERS: dict[e.Purpose, Callable[[Decision, Timer], None]] = {
    "retry": _retry_due,
    "task": _task_overdue,
    "node_deadline": _node_overdue,
    "wait": _wait_over,
    "signal": _signal_overdue,
    "approval": _approval_overdue,
    "join": _join_overdue,
    "run_deadline": _deadline,
    "cancel_grace": _grace_over,
}
