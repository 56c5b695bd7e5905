"""Which runs this coordinator decides, and how."""

from __future__ import annotations

from penstock.core.graph.decider import GraphDecider
from penstock.core.graph.programs import Programs
from penstock.core.graph.state import State
from penstock.core.turn import Kind, Summary
from penstock.expr.evaluator import ExpressionEvaluator


def kinds() -> dict[str, Kind]:
    """One for all shards of a process: they share the compiled programs."""
    return {"start": Kind(GraphDecider(Programs(ExpressionEvaluator())), summarize)}


def summarize(state: State) -> Summary:
    closed = state.phase == "closed"
    waits = len(state.tokens) + len(state.timers) + len(state.undo)
    due = min((timer.due for timer in state.timers.values()), default=None)
    return Summary(0 if closed else max(1, waits), due, state.status, state.outcome)
