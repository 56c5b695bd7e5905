"""Undoing what was done: one at a time, in reverse order of completion, each recorded."""

from __future__ import annotations

from penstock.core.graph.backoff import delay
from penstock.core.graph.decision import QUEUE_TIMEOUT, TASK_MARGIN, Decision
from penstock.core.graph.evolve import reason_to_undo
from penstock.core.graph.state import Done
from penstock.core.model.events import (
    CompensationEnded,
    CompensationRetryScheduled,
    CompensationSkipped,
    CompensationStarted,
    Fault,
    IncidentRaised,
    TimerCleared,
)
from penstock.core.model.graph import CompensateRule


def compensate_next(decision: Decision) -> bool:
    """Start the next compensation that is asked for; True while one is under way."""
    state = decision.state
    if state.undo_now:
        return True
    reason = reason_to_undo(state)
    if reason is None:
        return False
    for token, flight in sorted(state.flights.items(), reverse=True):
        if reason not in flight.rule.on or flight.skipped:
            continue
        if flight.rule.on_unknown == "run":
            _start(decision, token, flight.rule, 1)
            return True
        decision.emit(CompensationSkipped(token, "whether it was done is not known"))
    for done in reversed(state.undo.values()):
        if done.status == "due" and reason in done.rule.on:
            _start(decision, done.token, done.rule, 1)
            return True
    return False


def end_compensation(decision: Decision, done: Done, fault: Fault | None) -> None:
    """Tried again by its own policy; a failure is recorded and the rest goes on."""
    _clear_timer(decision, done)
    if fault is None:
        decision.emit(CompensationEnded(done.token))
    elif fault.retryable and done.attempt < done.rule.retry.max_attempts:
        due = decision.in_ms(delay(done.rule.retry, done.token, done.attempt))
        decision.emit(CompensationRetryScheduled(done.token, done.attempt + 1, due))
        decision.set_timer(due, "undo_retry", undo=done)
    else:
        decision.emit(CompensationEnded(done.token, fault))
        decision.emit(IncidentRaised(fault, done.token))


def retry_compensation(decision: Decision, done: Done) -> None:
    _start(decision, done.token, done.rule, done.attempt + 1)


def stop_compensation(decision: Decision) -> None:
    """Somebody will have it so: nothing more is undone."""
    state = decision.state
    for token in [token for token, flight in state.flights.items() if not flight.skipped]:
        decision.emit(CompensationSkipped(token, "stopped by force"))
    for done in state.undo.values():
        if done.status in {"due", "running", "retrying"}:
            _clear_timer(decision, done)
            decision.emit(CompensationSkipped(done.token, "stopped by force"))


def _start(decision: Decision, token: int, rule: CompensateRule, attempt: int) -> None:
    decision.emit(CompensationStarted(token, attempt))
    if rule.timeout is not None:
        patience = rule.timeout + QUEUE_TIMEOUT + TASK_MARGIN
        decision.set_timer(decision.in_ms(patience), "undo", undo=decision.state.undo[token])


def _clear_timer(decision: Decision, done: Done) -> None:
    for purpose in ("undo", "undo.begun", "undo_retry"):
        name = f"u{done.token}.{done.attempt}.{purpose}"
        if name in decision.state.timers:
            decision.emit(TimerCleared(name))
