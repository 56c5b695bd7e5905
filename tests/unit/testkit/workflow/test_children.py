"""Tested runs and the runs that they start."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.graph.errors import UnknownTarget
from penstock.testkit.workflow import NodeUnscripted, Workflow, fails, takes

Json = Any


def parent(*others: Workflow, **node: Json) -> Workflow:
    nodes = {"call": {"type": "workflow", "workflow": "child", **node}, "after": {"queue": "q"}}
    ways = [{"from": "call", "to": "after"}]
    definition = {"name": "parent", "nodes": nodes, "transitions": ways}
    return Workflow(definition, others=others).on("after", lambda ask: ["after", ask.input])


@pytest.fixture
def child() -> Workflow:
    return Workflow({"name": "child", "nodes": {"work": {"queue": "q", "compensate": {"action": "undo"}}}})


def test_a_child_is_a_run_of_its_own(child: Workflow) -> None:
    run = parent(child.on("work", lambda ask: ask.input + 1)).start(1).until_idle()
    assert (run.output, run.inputs("call")) == (["after", 2], [1])
    assert (run.child("call").path, run.child("call").outcome) == (["work"], "completed")


def test_a_child_can_be_scripted_like_a_task(child: Workflow) -> None:
    assert parent().start().on("call", "done").until_idle().output == ["after", "done"]
    assert parent(child).start().on("call", fails("NO")).until_idle().outcome == "failed"
    with pytest.raises(NodeUnscripted):
        parent().start().until_idle()
    with pytest.raises(UnknownTarget):
        parent().start().child("call")


def test_children_share_the_clock_and_what_is_for_all(child: Workflow) -> None:
    run = parent(child).start().on_any(takes("1h", "slow")).advance("59m")
    assert run.child("call").status == "running"
    assert run.child("call").now == run.now
    assert run.advance("1m").output == ["after", "slow"]


def test_cancel_and_pause_reach_children(child: Workflow) -> None:
    run = parent(child.on("work", takes("1h"))).start().pause()
    assert run.child("call").status == "paused"
    assert run.resume().child("call").status == "running"
    run.cancel()
    assert (run.child("call").outcome, run.status) == ("cancelled", "closed")


def test_every_attempt_is_another_child(child: Workflow) -> None:
    child.on("work", lambda ask: fails("NO") if ask.input == "first" else "ok")
    run = parent(child, retry=2).start("first").until_closed()
    assert (len(run.children), run.attempts("call"), run.outcome) == (2, 2, "failed")


def test_children_that_completed_are_undone(child: Workflow) -> None:
    run = parent(child.on("work", 1)).start().on("after", fails("NO")).until_idle()
    assert (run.undone, run.child("call").undone, run.status) == (["call"], ["work"], "closed")


def test_a_workflow_calls_itself() -> None:
    nodes = {"a": {"on_no_match": "end"}, "b": {"type": "workflow", "workflow": "w"}}
    ways = [{"from": "a", "to": "b", "when": "output > 0"}]
    run = Workflow({"name": "w", "nodes": nodes, "transitions": ways}).on("a", lambda ask: ask.input - 1).start(3)
    assert run.until_idle().output == 0
    assert run.child("b").child("b").path == ["a"]


def test_a_run_migrates_to_another_version() -> None:
    config = {"from_version": "1", "to_version": "2", "transform": "t"}
    nodes = {"m": {"type": "migration", "queue": "q", "config": config, "resume_at": "new"}, "old": {"queue": "q"}}
    second = Workflow({"name": "w", "version": "2", "nodes": {"new": {"queue": "q"}}})
    first = Workflow(
        {"name": "w", "version": "1", "nodes": nodes, "transitions": [{"from": "m", "to": "old"}]}, others=[second]
    )
    run = first.start().on("m", {"state": {"n": 1}})
    with pytest.raises(NodeUnscripted):
        run.until_idle()
    assert (run.on("new", "N").until_idle().output, run.state) == ("N", {"n": 1})
