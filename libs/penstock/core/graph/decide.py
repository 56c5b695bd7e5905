"""The graph decider: a command in, events out. Pure, but for the state it is given, which it moves along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from penstock.core.graph.approve import decide_approval
from penstock.core.graph.child import child_compensated, end_child
from penstock.core.graph.compensate import stop_compensation
from penstock.core.graph.decision import Decision
from penstock.core.graph.errors import IllegalTransition, NotStandalone, SignalsFull
from penstock.core.graph.expire import fire_timer
from penstock.core.graph.fail import end_run, fail_node, force
from penstock.core.graph.fault import NodeFault
from penstock.core.graph.lifecycle import check_allowed
from penstock.core.graph.patch import decide_patch, patch, propose, revert
from penstock.core.graph.program import Program
from penstock.core.graph.report import drop_parked, retry_parked, task_begun, task_result
from penstock.core.graph.settle import settle
from penstock.core.graph.state import ROOT, State
from penstock.core.graph.visit import take_signal
from penstock.core.model import commands as c
from penstock.core.model import events as e
from penstock.core.model.decider import NO_FACTS, Facts, Missing, Need
from penstock.core.model.time import Instant

Json: TypeAlias = Any

SIGNAL_LIMIT = 1_000


def decide(program: Program, state: State, command: c.Command, now: Instant, facts: Facts = NO_FACTS) -> list[e.Event]:
    """The events that follow from `command`; `state` has them applied.

    May raise `DomainError`, having done nothing, and `Missing`, having left the state half-changed.
    """
    decision = Decision(program, state, now, facts)
    _HANDLERS[type(command)](decision, command)
    settle(decision)
    if decision.memos:
        raise Missing(Need(memos=frozenset(decision.memos)))
    return decision.events


def _start(decision: Decision, command: c.Start) -> None:
    program = decision.program
    graph = program.graph
    if decision.state.phase != "pending":
        return  # started already: starting twice is one run
    if not graph.standalone and command.parent is None:
        raise NotStandalone(workflow=command.workflow)
    decision.emit(
        e.RunStarted(
            workflow=command.workflow,
            graph=command.graph,
            input=command.input,
            engine=program.engine,
            seed=command.seed,
            state=dict(graph.state or {}),
            run=command.run,
            submitted_by=command.submitted_by,
            labels=command.labels,
            correlation=command.correlation,
            parent=command.parent,
            depth=command.depth,
            artifacts=command.artifacts,
        )
    )
    if program.input_schema is not None and not decision.fits(program.input_schema, command.input):
        end_run(decision, "failed", e.Fault("INPUT_SCHEMA", "the run's input does not fit its schema"))
        return
    for signal in command.signals:
        decision.emit(e.SignalReceived(signal.signal, signal.name, signal.payload))
    own = None if graph.deadline is None else decision.in_ms(graph.deadline)
    deadlines = [due for due in (own, command.deadline) if due is not None]
    if deadlines:
        decision.set_timer(min(deadlines), "run_deadline")
    for lane, entry in enumerate(graph.entries):
        token = decision.new_token()
        side = lane if len(graph.entries) > 1 else -1
        decision.emit(e.TokenCreated(token, entry, ROOT, 1, "start", payload=command.input, lane=side))
        decision.ready.append(token)


def _send_signal(decision: Decision, command: c.SendSignal) -> None:
    state = decision.state
    if command.signal in state.seen:
        return
    check_allowed(state, "signalled")
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


def _cancel(decision: Decision, command: c.Cancel) -> None:
    state = decision.state
    check_allowed(state, "stopped" if command.force else "cancelled")
    if state.outcome is None:
        end_run(decision, "cancelled", e.Fault("CANCELLED", command.reason or "cancelled"))
    if command.force:
        force(decision)
        stop_compensation(decision)


def _compensate(decision: Decision, command: c.Compensate) -> None:
    state = decision.state
    check_allowed(state, "compensating")
    if state.outcome is None:
        raise IllegalTransition(what="the run", now=state.status, asked="compensating")
    if state.undoing is not None:
        return
    decision.emit(e.CompensationRequested(command.reason, command.by))


def _pause(decision: Decision, _: c.Pause) -> None:
    check_allowed(decision.state, "paused")
    if not decision.state.paused:
        decision.emit(e.RunPaused())


def _resume(decision: Decision, _: c.Resume) -> None:
    state = decision.state
    if not state.paused:
        raise IllegalTransition(what="the run", now=state.status, asked="running")
    decision.emit(e.RunResumed())
    _begin_ready(decision)


def _continue(decision: Decision, _: c.Continue) -> None:
    if decision.state.yielded:
        decision.emit(e.RunContinued())
        _begin_ready(decision)


def _begin_ready(decision: Decision) -> None:
    tokens = decision.state.tokens.values()
    decision.ready.extend(sorted(token.id for token in tokens if token.status == "ready"))


_HANDLERS: dict[type[c.Command], Callable[[Decision, Any], None]] = {
    c.Start: _start,
    c.TaskResult: task_result,
    c.TaskBegun: task_begun,
    c.RetryParked: retry_parked,
    c.DropParked: drop_parked,
    c.FireTimer: fire_timer,
    c.SendSignal: _send_signal,
    c.DecideApproval: decide_approval,
    c.EndChild: end_child,
    c.ChildCompensated: child_compensated,
    c.Cancel: _cancel,
    c.Compensate: _compensate,
    c.Pause: _pause,
    c.Resume: _resume,
    c.Patch: patch,
    c.ProposePatch: propose,
    c.DecidePatch: decide_patch,
    c.Revert: revert,
    c.Continue: _continue,
}
