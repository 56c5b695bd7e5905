"""Runs that a run started: their ends, and their undoing."""

from __future__ import annotations

from penstock.core.graph.compensate import end_compensation
from penstock.core.graph.complete import Result
from penstock.core.graph.decision import Decision
from penstock.core.graph.evolve import undo_of
from penstock.core.graph.fail import fail_attempt
from penstock.core.graph.report import complete_or_fail
from penstock.core.model import commands as c
from penstock.core.model import events as e


def end_child(decision: Decision, command: c.EndChild) -> None:
    state = decision.state
    number = state.children.get(command.child)
    if number is None:
        _late(decision, command)
        return
    decision.emit(e.ChildEnded(command.child, command.outcome))
    token = state.tokens[number]
    child = decision.node(token).rule.child
    if command.outcome == "completed":
        complete_or_fail(decision, token, Result(command.output))
    elif child is not None and child.on_failure == "catch":
        error = None if command.fault is None else {"code": command.fault.code, "message": command.fault.message}
        complete_or_fail(decision, token, Result({"status": command.outcome, "error": error}, done=False))
    else:
        cause = command.fault.code if command.fault else command.outcome
        details = {"run_id": command.child, "cause": cause}
        message = f"child {command.child} {command.outcome}"
        # Whoever gave the node more attempts than one wants a new child after a failure.
        again = command.outcome != "cancelled"
        fail_attempt(decision, token, e.Fault("CHILD_FAILED", message, token.node, token.attempt, again, details))


def child_compensated(decision: Decision, command: c.ChildCompensated) -> None:
    done = undo_of(decision.state, decision.state.undo_now)
    if done is not None and done.child == command.child and done.status == "running":
        end_compensation(decision, done, command.fault)


def _late(decision: Decision, command: c.EndChild) -> None:
    """It was told to stop, and may have completed all the same."""
    for token, flight in decision.state.flights.items():
        if flight.child == command.child:
            fault = None if command.outcome == "completed" else e.Fault("CHILD_FAILED", command.outcome, flight.node)
            decision.emit(e.ResultRecorded(token, flight.attempt, command.output, fault))
            return
