"""What happens when a timer fires, by what it was set for. One that is not in the state any more is ignored."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.graph.approve import approval_overdue
from penstock.core.graph.compensate import end_compensation, retry_compensation
from penstock.core.graph.complete import Result
from penstock.core.graph.decision import Decision
from penstock.core.graph.evolve import undo_of
from penstock.core.graph.fail import TASK_TIMEOUT, end_run, fail_attempt, fail_node, force
from penstock.core.graph.report import complete_or_fail, go_on, no_verdict
from penstock.core.graph.route import QUEUE_PATIENCE
from penstock.core.graph.state import Timer, Token
from penstock.core.graph.synchronize import doomed, fail_join, fire, stop_work
from penstock.core.model import commands as c
from penstock.core.model import events as e


def fire_timer(decision: Decision, command: c.FireTimer) -> None:
    timer = decision.state.timers.get(command.timer)
    if timer is None or decision.now < timer.due:  # set anew since it was armed
        return
    decision.emit(e.TimerFired(command.timer))
    if timer.purpose in _OF_TOKEN:
        _OF_TOKEN[timer.purpose](decision, decision.state.tokens[timer.token])
    else:
        _OF_RUN[timer.purpose](decision, timer)


def _retry_due(decision: Decision, token: Token) -> None:
    decision.ready.append(token.id)


def _task_overdue(decision: Decision, token: Token) -> None:
    message = "no answer within the time limit"
    fail_attempt(decision, token, e.Fault(TASK_TIMEOUT, message, token.node, token.attempt, retryable=True))


def _node_overdue(decision: Decision, token: Token) -> None:
    message = "all attempts together took too long"
    stop_work(decision, token)
    fail_node(decision, token, e.Fault("NODE_DEADLINE", message, token.node, token.attempt))


def _wait_over(decision: Decision, token: Token) -> None:
    complete_or_fail(decision, token, Result(token.payload))


def _signal_overdue(decision: Decision, token: Token) -> None:
    wait = decision.node(token).rule.wait
    if wait is not None and wait.on_timeout == "continue":
        complete_or_fail(decision, token, Result(token.payload))
    else:
        fail_node(decision, token, e.Fault("SIGNAL_TIMEOUT", "no signal came in time", token.node))


def _no_verdict(decision: Decision, token: Token) -> None:
    if decision.state.paused:  # nobody was asked
        decision.set_timer(decision.in_ms(QUEUE_PATIENCE), "routing", token=token)
        return
    fault = e.Fault("EXPR_LIMIT", "its conditions were not evaluated in time", token.node)
    go_on(decision, token, no_verdict(token, fault))


def _join_overdue(decision: Decision, timer: Timer) -> None:
    group = decision.state.groups.get(timer.group)
    if group is None or group.settled or group.join is None or doomed(decision, group.scope):
        return
    if group.join.on_timeout == "proceed_with_available":
        fire(decision, group, group.join)
    else:
        fault = e.Fault("JOIN_TIMEOUT", f"the branches of {group.name} took too long", group.join.target)
        fail_join(decision, group, group.join, fault)


def _deadline(decision: Decision, _: Timer) -> None:
    if decision.state.outcome is None:
        end_run(decision, "timed_out", e.Fault("RUN_DEADLINE", "the run took too long"))
    elif "run.cancel_grace" not in decision.state.timers:
        force(decision)


def _grace_over(decision: Decision, _: Timer) -> None:
    force(decision)


def _undo_overdue(decision: Decision, timer: Timer) -> None:
    done = undo_of(decision.state, timer.undo)
    if done is not None and done.status == "running":
        message = "no answer within the time limit"
        end_compensation(decision, done, e.Fault(TASK_TIMEOUT, message, done.node, done.attempt, retryable=True))


def _undo_again(decision: Decision, timer: Timer) -> None:
    done = undo_of(decision.state, timer.undo)
    if done is not None and done.status == "retrying":
        retry_compensation(decision, done)


_OF_TOKEN: dict[e.Purpose, Callable[[Decision, Token], None]] = {
    "retry": _retry_due,
    "task": _task_overdue,
    "node_deadline": _node_overdue,
    "wait": _wait_over,
    "signal": _signal_overdue,
    "approval": approval_overdue,
    "routing": _no_verdict,
}

_OF_RUN: dict[e.Purpose, Callable[[Decision, Timer], None]] = {
    "join": _join_overdue,
    "run_deadline": _deadline,
    "cancel_grace": _grace_over,
    "undo": _undo_overdue,
    "undo_retry": _undo_again,
}
