"""State-based patterns: WCP 16 to 18, 39, 40; and that nobody held back by `parallelism` is forgotten."""

from __future__ import annotations

import pytest

from penstock.core.model import commands as c
from tests.unit.core.graph.patterns.page import example, graph, open_nodes, signal

FORTNIGHT = 14 * 86_400


def test_wcp_16_deferred_choice() -> None:
    accepted = signal(example(16), "accepted")
    assert open_nodes(accepted) == ["deliver"]
    assert accepted.state.timers == {}
    expired = example(16).advance(FORTNIGHT)
    assert open_nodes(expired) == ["archive"]
    assert open_nodes(signal(expired, "accepted")) == ["archive"]


def test_wcp_17_interleaved_parallel_routing() -> None:
    run = example(17)
    for node in ("weigh", "label", "photograph", "done"):
        assert open_nodes(run) == [node]
        run.complete(node)
    assert run.outcome == "completed"


@pytest.mark.parametrize(("done", "way"), [([], "refuse"), (["publish"], "change"), (["publish", "close"], "refuse")])
def test_wcp_18_milestone(done: list[str], way: str) -> None:
    run = example(18)
    for node in done:
        run.complete(node)
    assert way in open_nodes(signal(run, "change"))


def test_wcp_39_critical_section() -> None:
    run = example(39).complete("flight", 1).complete("hotel", 2)
    (first,) = run.state.children
    run.send(c.EndChild(first, "completed"))
    (second,) = run.state.children
    assert second != first
    run.send(c.EndChild(second, "completed")).complete("confirm").complete("confirm")
    assert run.outcome == "completed"


def test_wcp_40_interleaved_routing() -> None:
    run = example(40).complete("begin", ["brakes", "lights", "oil"])
    for item in ("brakes", "lights", "oil"):
        assert [task.input for task in run.open()] == [{"what": item}]
        run.complete("check", item)
    assert [task.input for task in run.open("done")] == [["brakes", "lights", "oil"]]


@pytest.mark.parametrize("fails", [False, True], ids=["completes", "fails and is caught"])
@pytest.mark.parametrize("limit", [1, 2])
def test_a_node_that_nothing_follows_gives_every_held_token_its_turn(limit: int, *, fails: bool) -> None:
    nodes = {"a": {}, "b": {"parallelism": limit}, **({"caught": {}} if fails else {})}
    catches = [{"from": "b", "to": "caught", "on": "error"}] if fails else []
    run = graph(nodes, {"from": "a", "to": "b", "spawn": 5}, *catches).complete("a")
    for left in range(5, 0, -1):
        assert len(run.open("b")) == min(limit, left)
        run.fail("b") if fails else run.complete("b")
    run.work(lambda _: None)
    assert (run.outcome, run.visited().count("caught" if fails else "b")) == ("completed", 5)
