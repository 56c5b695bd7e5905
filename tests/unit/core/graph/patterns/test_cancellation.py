"""Cancellation: WCP 19, 20, 25."""

from __future__ import annotations

from penstock.core.model import commands as c
from tests.unit.core.graph.patterns.page import example, flow, open_nodes, signal


def test_wcp_19_cancel_activity() -> None:
    run = signal(example(19), "stop")
    assert open_nodes(run) == ["next"]
    assert run.kinds().count("task.cancelled") == 1
    assert open_nodes(example(19).complete("work")) == ["next"]


def test_wcp_20_cancel_case() -> None:
    run = flow("a -> b", "a -> c").complete("a").send(c.Cancel("no longer wanted"))
    assert (run.outcome, run.kinds().count("task.cancelled")) == ("cancelled", 2)
    run.advance(30)
    assert (run.status, run.open()) == ("closed", [])


def test_wcp_25_cancel_region() -> None:
    run = example(25).complete("pick").complete("pack")
    assert open_nodes(run) == ["print"]
    assert open_nodes(signal(run, "stop")) == ["next"]
    untouched = example(25).complete("pick").complete("pack").complete("print")
    assert open_nodes(untouched) == ["next"]
