"""Multiple instances: WCP 12 to 15, 26, 27, 34 to 36."""

from __future__ import annotations

from typing import Any

from tests.unit.core.graph.drive import Drive
from tests.unit.core.graph.patterns.page import example, graph, open_nodes, signal

Json = Any


def instances(join: Json = None, **fan: Json) -> Drive:
    """`a`, then `b` in many instances, joined at `j` if a join is given."""
    nodes: Json = {"a": {}, "b": {}} | ({} if join is None else {"j": {"fan_in": join}})
    ways = [{"from": "a", "to": "b", **fan}] + ([] if join is None else [{"from": "b", "to": "j"}])
    return graph(nodes, *ways)


def test_wcp_12_multiple_instances_without_synchronization() -> None:
    ways = [{"from": "a", "to": "b", "foreach": "output"}, {"from": "a", "to": "c"}]
    run = graph({"a": {}, "b": {}, "c": {}}, *ways).complete("a", [1, 2, 3])
    assert sorted(open_nodes(run)) == ["b", "b", "b", "c"]
    run.complete("c").work(lambda task: task.input)
    assert run.outcome == "completed"


def test_wcp_13_multiple_instances_with_a_priori_design_time_knowledge() -> None:
    run = instances("all", spawn=3).complete("a").complete("b", 1).complete("b", 2)
    assert open_nodes(run) == ["b"]
    assert [task.input for task in run.complete("b", 3).open()] == [[1, 2, 3]]


def test_wcp_14_multiple_instances_with_a_priori_run_time_knowledge() -> None:
    run = instances("all", foreach="output").complete("a", ["x", "y"])
    assert [task.input for task in run.open("b")] == ["x", "y"]
    run.complete("b", 1).complete("b", 2)
    assert [task.input for task in run.open("j")] == [[1, 2]]


def test_wcp_15_multiple_instances_without_a_priori_run_time_knowledge() -> None:
    run = example(15).complete("more", {"again": True}).complete("work", 1)
    assert open_nodes(run) == ["more"]
    run.complete("more", {"again": True}).complete("more", {"again": False})
    assert open_nodes(run) == ["work", "work"]
    run.complete("work", 2)
    assert run.open("done") == []
    run.complete("work", 3)
    assert [task.input for task in run.open()] == [[{"work": [1, 2, 3]}]]


def test_wcp_26_cancel_multiple_instance_activity() -> None:
    run = example(26).complete("list", [1, 2, 3]).complete("work")
    assert open_nodes(run) == ["work", "work"]
    assert open_nodes(signal(run, "stop")) == ["next"]
    assert run.kinds().count("task.cancelled") == 2
    assert run.complete("next").outcome == "completed"


def test_wcp_27_complete_multiple_instance_activity() -> None:
    join = {"timeout": "1h", "on_timeout": "proceed_with_available"}
    run = instances(join, foreach="output").complete("a", [1, 2, 3]).complete("b", "done")
    run.advance(3599)
    assert open_nodes(run) == ["b", "b"]
    run.advance(1)
    assert [(task.node, task.input) for task in run.open()] == [("j", ["done"])]


def test_wcp_34_static_partial_join_for_multiple_instances() -> None:
    run = instances({"m_of_n": 2, "on_early_complete": "abandon"}, foreach="output").complete("a", [1, 2, 3])
    run.complete("b", 1).complete("b", 2)
    assert open_nodes(run) == ["b", "j"]
    assert run.complete("j", "J").outcome == "completed"
    assert (run.complete("b", 3).status, run.output) == ("closed", "J")


def test_wcp_35_cancelling_partial_join_for_multiple_instances() -> None:
    run = instances({"m_of_n": 2}, foreach="output").complete("a", [1, 2, 3]).complete("b", 1).complete("b", 2)
    assert open_nodes(run) == ["j"]
    assert run.kinds().count("task.cancelled") == 1


def test_wcp_36_dynamic_partial_join_for_multiple_instances() -> None:
    run = example(36).complete("more", {"again": True}).complete("work", 1).complete("more", {"again": True})
    assert open_nodes(run) == ["work", "more"]
    run.complete("work", 2)
    assert open_nodes(run) == ["more", "enough"]
    run.complete("more", {"again": False}).complete("work", 3).complete("enough")
    assert (run.visited().count("enough"), run.outcome) == (1, "completed")
