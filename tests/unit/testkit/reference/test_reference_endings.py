"""Sentences of the rules that the simulator found the reference interpreter to read otherwise than the decider."""

from __future__ import annotations

from penstock.testkit.reference import Completed
from tests.unit.testkit.reference.predicting import BAD, out, predict


def test_a_choice_that_is_not_allowed_fails_the_attempt_and_stores_nothing() -> None:
    branch = {"type": "agent_driven", "available_next_nodes": ["b"], "default": ["b"]}
    nodes = {"a": {"type": "agent", "branch": branch, "output": {"x": "output.n"}}, "b": {}}
    prediction = predict(nodes, [], {"a": Completed({"n": 1}, ("nowhere",))})
    assert prediction.exact
    assert prediction.ending.codes == ("ROUTE_NOT_ALLOWED",)
    assert prediction.ending.state == {}


def test_a_run_without_a_terminal_completion_puts_out_nothing_by_node() -> None:
    transitions = [{"from": "a", "to": "b", "foreach": "output.xs"}]
    prediction = predict({"a": {}, "b": {}}, transitions, {"a": out(xs=[])})
    assert prediction.ending.output == {}


def test_a_child_that_completed_is_undone_as_one_unit() -> None:
    nodes = {"a": {"workflow": "child"}, "b": {}, "c": {}}
    transitions = [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]
    ending = predict(nodes, transitions, {"c": BAD}).ending
    assert [done.node for done in ending.compensations] == ["a"]
