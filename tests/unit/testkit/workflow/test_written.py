"""Answers in a file."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.testkit.workflow import AnswersUnreadable, NodeUnknown, Workflow, script_from

Json = Any


def workflow(written: Json, **node: Json) -> Workflow:
    found = Workflow({"name": "w", "nodes": {"a": {"queue": "q", **node}}})
    script_from(found, written)
    return found


@pytest.mark.parametrize(
    ("written", "output"),
    [
        ({"x": 1}, {"x": 1}),
        (5, 5),
        ({"returns": {"fail": 3}}, {"fail": 3}),
        ({"returns": [1, 2]}, [1, 2]),
        ([{"fail": "BUSY", "retryable": True}, "second"], "second"),
        ({"takes": "3d", "answer": {"y": 2}}, {"y": 2}),
    ],
)
def test_outputs_and_instructions(written: Json, output: Json) -> None:
    assert workflow({"a": written}, retry=2).start().until_closed().output == output


def test_failures_keep_their_code() -> None:
    fault = workflow({"a": {"fail": "NO", "message": "not today"}}).start().until_closed().fault
    assert fault is not None
    assert (fault.code, fault.message) == ("NO", "not today")


def test_what_never_answers_runs_out_of_time() -> None:
    assert workflow({"a": {"never": True}}, timeout="1s").start().until_closed().outcome == "failed"


@pytest.mark.parametrize(
    ("written", "decision", "by"),
    [
        ({"approve": "ana"}, "approved", "ana"),
        ({"approve": True}, "approved", "somebody"),
        ({"reject": "bo"}, None, ""),
    ],
)
def test_people(written: Json, decision: str | None, by: str) -> None:
    run = workflow({"a": {**written, "comments": "c"}}, type="human").start({}).until_closed()
    assert run.outcome == ("completed" if decision else "failed")
    if decision:
        assert (run.output["decision"], run.output["decided_by"], run.output["comments"]) == (decision, by, "c")


def test_agents_conditions_undoing_and_the_rest() -> None:
    code = {"type": "python_sandbox", "code": "def evaluate(output, context):\n    return True\n"}
    nodes = {
        "a": {"branch": {"type": "agent_driven", "available_next_nodes": ["b", "c"]}},
        "b": {"compensate": {"action": "undo"}},
        "c": {},
        "d": {},
    }
    ways = [{"from": "b", "to": "c", "when": code}, {"from": "b", "to": "d", "default": True}]
    found = Workflow({"name": "w", "nodes": nodes, "transitions": ways})
    written = {
        "a": {"choose": ["b"], "output": 1},
        "$conditions": {"b": False},
        "$undo": {"b": {"fail": "STUCK"}},
        "$any": {"fail": "NO"},
        "b": 2,
    }
    script_from(found, written)
    run = found.start().until_closed()
    assert (run.path, run.fault and run.fault.node, run.undone) == (["a", "b"], "d", ["b"])


@pytest.mark.parametrize(
    "written",
    [
        ["a"],
        {"a": {"fail": "X", "retry": True}},
        {"a": [{"takes": "soon"}]},
        {"a": {"choose": 3}},
        {"$undo": 1},
    ],
)
def test_what_cannot_be_read_is_refused(written: Json) -> None:
    with pytest.raises(AnswersUnreadable):
        workflow(written)


def test_a_node_that_does_not_exist_is_named() -> None:
    with pytest.raises(NodeUnknown):
        workflow({"b": 1})
