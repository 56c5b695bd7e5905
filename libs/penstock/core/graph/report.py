"""What workers report: results of tasks, of compensations and of conditions that run user code.

A result is fenced by token, attempt and nonce. One that nobody waits for any more changes nothing, unless what it
did has to be undone.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from penstock.core.graph.compensate import end_compensation
from penstock.core.graph.complete import Result, complete
from penstock.core.graph.decision import TASK_MARGIN, Decision
from penstock.core.graph.effects import nonce
from penstock.core.graph.errors import UnknownTarget
from penstock.core.graph.evolve import undo_of
from penstock.core.graph.fail import RUN_LIMITS, fail_attempt, fail_node, route_again
from penstock.core.graph.fault import NodeFault
from penstock.core.graph.migrate import migrate
from penstock.core.graph.route import check_choice
from penstock.core.graph.state import Done, Token
from penstock.core.model import commands as c
from penstock.core.model import events as e
from penstock.core.model.evaluate import Failure

Json: TypeAlias = Any


def task_result(decision: Decision, command: c.TaskResult) -> None:
    state = decision.state
    token = state.tokens.get(command.token)
    if token is not None and token.status == "running" and _answers(decision, command, token.attempt, "node"):
        _result(decision, token, command)
    elif token is not None and token.question and _answers(decision, command, token.question.number, "route"):
        if token.status == "routing":
            go_on(decision, token, _verdicts(token, command))
    else:
        _late(decision, command)


def task_begun(decision: Decision, command: c.TaskBegun) -> None:
    """The worker's time runs from here; until now the task may have waited in its queue."""
    state = decision.state
    undo = undo_of(state, command.token)
    if undo is not None and undo.status == "running" and _answers(decision, command, undo.attempt, "undo"):
        _undo_begun(decision, undo)
        return
    token = state.tokens.get(command.token)
    if token is None or token.status != "running" or not _answers(decision, command, token.attempt, "node"):
        return
    waiting = f"t{token.id}.{token.attempt}.task"
    timeout = decision.begun(token).timeout
    if waiting in decision.state.timers and timeout is not None:
        decision.emit(e.TaskStarted(token.id, token.attempt))
        decision.emit(e.TimerCleared(waiting))
        # Under another name: a firing of the old one that is already on its way must not pass for this one.
        decision.emit(e.TimerSet(f"{waiting}.begun", decision.in_ms(timeout + TASK_MARGIN), "task", token.id))


def _undo_begun(decision: Decision, undo: Done) -> None:
    waiting = f"u{undo.token}.{undo.attempt}.undo"
    if waiting in decision.state.timers and undo.rule.timeout is not None:
        due = decision.in_ms(undo.rule.timeout + TASK_MARGIN)
        decision.emit(e.TaskStarted(undo.token, undo.attempt))
        decision.emit(e.TimerCleared(waiting))
        decision.emit(e.TimerSet(f"{waiting}.begun", due, "undo", undo=undo.token))


def complete_or_fail(decision: Decision, token: Token, result: Result) -> None:
    try:
        complete(decision, token, result)
    except NodeFault as problem:
        fail_node(decision, token, problem.fault(token))


def go_on(decision: Decision, token: Token, verdicts: dict[str, bool | Failure]) -> None:
    failed = token.question is not None and token.question.failed
    decision.clear_timers(token)
    decision.emit(e.RoutingAnswered(token.id, verdicts))
    route_again(decision, token, failed=failed)


def no_verdict(token: Token, fault: e.Fault) -> dict[str, bool | Failure]:
    programs = token.question.programs if token.question else ()
    return {program.id: Failure(fault.code, fault.message) for program in programs}


def retry_parked(decision: Decision, command: c.RetryParked) -> None:
    """Under the same idempotency key; its turn comes like anybody's."""
    token = _parked(decision, command.token)
    decision.emit(e.TokenUnparked(token.id))
    decision.ready.append(token.id)


def drop_parked(decision: Decision, command: c.DropParked) -> None:
    token = _parked(decision, command.token)
    fail_node(decision, token, token.fault or e.Fault("DROPPED", "given up", token.node))


def _parked(decision: Decision, number: int) -> Token:
    token = decision.state.tokens.get(number)
    if token is None or token.status != "parked":
        raise UnknownTarget(kind="parked token", name=number)
    return token


def _answers(decision: Decision, command: c.TaskResult | c.TaskBegun, attempt: int, purpose: Any) -> bool:  # noqa: ANN401 - one of three words
    expected = nonce(decision.state, command.token, attempt, purpose)
    return command.attempt == attempt and command.nonce == expected


def _result(decision: Decision, token: Token, command: c.TaskResult) -> None:
    fault = _fault_of(command, token.node)
    if fault is not None:
        fail_attempt(decision, token, fault)
        return
    try:
        check_choice(decision.node(token), command.next_nodes)
    except NodeFault as problem:
        undo = decision.begun(token).compensate
        if undo is not None:  # it was done, wherever it wanted to go
            decision.emit(e.ResultRecorded(token.id, token.attempt, command.output, compensate=undo))
        fault = problem.fault(token)
        if fault.code in RUN_LIMITS:
            fail_node(decision, token, fault)
        else:
            fail_attempt(decision, token, fault)
        return
    decision.clear_timers(token)
    if decision.node(token).rule.behaviour == "migration" and not token.abandoned:
        _migrate(decision, token, command)
    else:
        result = Result(command.output, command.next_nodes, command.metadata, command.artifacts)
        complete_or_fail(decision, token, result)


def _migrate(decision: Decision, token: Token, command: c.TaskResult) -> None:
    try:
        migrate(decision, token, command.output, command.metadata)
    except NodeFault as problem:
        fail_node(decision, token, problem.fault(token))


def _fault_of(command: c.TaskResult, node: str) -> e.Fault | None:
    if command.status == "completed":
        return None
    given = command.fault or e.Fault("TASK_FAILED", f"the worker reported {command.status}")
    return e.Fault(given.code, given.message, node, command.attempt, given.retryable, given.details)


def _verdicts(token: Token, command: c.TaskResult) -> dict[str, bool | Failure]:
    """Whatever is not plainly true or false is a failure."""
    fault = _fault_of(command, token.node)
    if fault is not None or token.question is None:
        return no_verdict(token, fault or e.Fault("EXPR_EVALUATION", "nobody asked"))
    found = command.output if isinstance(command.output, dict) else {}
    verdicts: dict[str, bool | Failure] = {}
    for program in token.question.programs:
        match found.get(program.id):
            case bool(verdict):
                verdicts[program.id] = verdict
            case {"code": str(code), "message": str(message)}:
                verdicts[program.id] = Failure(code, message)
            case _:
                verdicts[program.id] = Failure("EXPR_EVALUATION", "there is no verdict")
    return verdicts


def _late(decision: Decision, command: c.TaskResult) -> None:
    state = decision.state
    undo = undo_of(state, command.token)
    if undo is not None and undo.status == "running" and _answers(decision, command, undo.attempt, "undo"):
        end_compensation(decision, undo, _fault_of(command, undo.node))
        return
    flight = state.flights.get(command.token)
    if flight is not None and not flight.child and _answers(decision, command, flight.attempt, "node"):
        fault = _fault_of(command, flight.node)
        output = command.output if fault is None else None
        decision.emit(e.ResultRecorded(command.token, command.attempt, output, fault))
        return
    decision.emit(e.ResultIgnored(command.token, command.attempt, "nobody waits for it"))
