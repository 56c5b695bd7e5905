"""Triggers: WCP 23, 24."""

from __future__ import annotations

from tests.unit.core.graph.patterns.page import example, flow, open_nodes, signal


def test_wcp_23_transient_trigger() -> None:
    run = signal(example(23), "bell", {"at": 1}).complete("ready", {"at": 2})
    assert open_nodes(run) == []
    assert open_nodes(signal(run, "bell", {"at": 3})) == ["open"]


def test_wcp_24_persistent_trigger() -> None:
    bell = {"type": "wait", "wait": {"signal": "bell"}}
    run = signal(flow("ready -> bell -> open", bell=bell), "bell", "early").complete("ready")
    assert [task.input for task in run.open("open")] == ["early"]
