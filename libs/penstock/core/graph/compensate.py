"""Undoing what was done: one at a time, in reverse order of completion, each recorded."""

from __future__ import annotations

from typing import Literal

from penstock.core.graph.decision import Decision
from penstock.core.graph.state import Done
from penstock.core.model.events import CompensationEnded, CompensationStarted, Fault


def compensate_next(decision: Decision) -> bool:
    """Start the next compensation that the outcome asks for; True while one is under way."""
    state = decision.state
    if any(done.status == "running" for done in state.undo):
        return True
    reason: Literal["failure", "cancel", ""] = {"failed": "failure", "timed_out": "failure", "cancelled": "cancel"}.get(
        state.outcome or "", ""
    )  # type: ignore[assignment]
    for done in reversed(state.undo):
        if done.status == "due" and reason in done.rule.on:
            decision.emit(CompensationStarted(done.token))
            return True
    return False


def end_compensation(decision: Decision, done: Done, fault: Fault | None) -> None:
    """Tried again by its own policy; a failure is recorded and the rest goes on."""
    if fault is not None and fault.retryable and done.attempt < done.rule.retry.max_attempts:
        decision.emit(CompensationStarted(done.token, done.attempt + 1))
        return
    decision.emit(CompensationEnded(done.token, fault))
