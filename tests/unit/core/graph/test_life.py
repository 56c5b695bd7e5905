"""The life of a run: graph-rules, "Life of a run", waits, approvals, children and compensation."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.graph.effects import outstanding
from penstock.core.graph.errors import IllegalTransition, UnknownTarget
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from tests.unit.core.graph.drive import Drive, graph

Json = Any

CHAIN = [{"from": "a", "to": "b"}]


def task(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


# -- starting and ending


def test_starting_twice_is_one_run() -> None:
    run = Drive(graph("a")).start().start()
    assert run.kinds().count("run.started") == 1


def test_every_node_that_nothing_leads_to_is_an_entry() -> None:
    run = Drive(graph("a", "b", transitions=[]), {"x": 1}).start()
    assert [(task_.node, task_.input) for task_ in run.open()] == [("a", {"x": 1}), ("b", {"x": 1})]


def test_several_ends_give_the_output_by_node() -> None:
    run = Drive(graph("a", "b", transitions=[])).start().complete("b", 2).complete("a", 1)
    assert list(run.output.items()) == [("a", 1), ("b", 2)]


def test_the_counter_follows_the_commits() -> None:
    """Seed 002 as graph-rules count it: A→B→C is 1, 1, 1, 0."""
    run = Drive(graph("a", "b", "c", transitions=[{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]))
    values = [run.start().state.counter]
    values += [run.complete(node).state.counter for node in "abc"]
    assert values == [1, 1, 1, 0]


def test_the_counter_of_a_diamond() -> None:
    nodes: list[str | dict[str, Json]] = [
        "a",
        task("b"),
        task("c"),
        task("d", dependencies=["b", "c"], wait_for_all=True),
    ]
    ways = [{"from": "a", "to": "b"}, {"from": "a", "to": "c"}, {"from": "b", "to": "d"}, {"from": "c", "to": "d"}]
    run = Drive(graph(*nodes, transitions=ways))
    values = [run.start().state.counter]
    values += [run.complete(node).state.counter for node in "abcd"]
    assert values == [1, 2, 2, 1, 0]


# -- pause, cancel, deadline


def test_a_paused_run_records_facts_and_dispatches_nothing() -> None:
    run = Drive(graph("a", "b", transitions=CHAIN)).start().send(c.Pause())
    assert run.status == "paused"
    task_ = f.DispatchTask(1, 1, "", "a", "task", "q", None, None, "t1")
    held = [effect for effect in outstanding(run.program, run.state) if isinstance(effect, f.DispatchTask)]
    assert held == []
    nonce = run.send(c.Resume()).open("a")[0].nonce
    run.send(c.Pause()).send(c.TaskResult(task_.token, 1, nonce, "completed", 1))
    assert run.open() == []
    run.send(c.Resume())
    assert [task_.node for task_ in run.open()] == ["b"]


def test_pause_and_resume_where_they_make_no_sense_are_refused() -> None:
    run = Drive(graph("a")).start()
    with pytest.raises(IllegalTransition):
        run.send(c.Resume())
    run.complete("a")
    with pytest.raises(IllegalTransition) as caught:
        run.send(c.Pause())
    assert caught.value.attributes["now"] == "closed"


def test_a_cancelled_run_tells_its_workers_and_closes_when_they_answer() -> None:
    run = Drive(graph("a", "b", transitions=CHAIN)).start()
    task_ = run.open()[0]
    run.send(c.Cancel("changed my mind"))
    assert (run.outcome, run.status) == ("cancelled", "running")
    run.answer(task_, "done anyway")
    assert run.status == "closed"
    assert run.visited() == ["a"]


def test_cancelling_a_closed_run_is_refused_and_a_cancelled_one_is_not_news() -> None:
    run = Drive(graph("a")).start().send(c.Cancel()).send(c.Cancel())
    assert run.kinds().count("run.ending") == 1
    run.advance(60)
    with pytest.raises(IllegalTransition):
        run.send(c.Cancel())


def test_a_deadline_gives_timed_out() -> None:
    run = Drive(graph("a", limits={"deadline_s": 10})).start().advance(11)
    assert (run.outcome, run.code) == ("timed_out", "RUN_DEADLINE")
    run.complete("a")
    assert run.status == "closed"


def test_the_first_outcome_stands() -> None:
    run = Drive(graph("a", "b", transitions=[])).start().send(c.Cancel()).fail("a").fail("b")
    assert run.outcome == "cancelled"


# -- waits and signals


def test_a_timer_wait_takes_its_time() -> None:
    run = Drive(
        graph({"id": "w", "type": "wait", "wait": {"duration": "30s"}}, "b", transitions=[{"from": "w", "to": "b"}]), 7
    )
    run.start().advance(29)
    assert run.open() == []
    run.advance(1)
    assert [task_.input for task_ in run.open()] == [7]


def test_a_month_of_waiting_takes_no_time() -> None:
    run = Drive(graph({"id": "w", "type": "wait", "wait": {"duration": "30d"}})).start().advance(31 * 86_400)
    assert run.outcome == "completed"


SIGNAL = {"id": "w", "type": "wait", "wait": {"signal": "paid"}}


def test_a_signal_wakes_the_token_that_waits_for_it() -> None:
    run = Drive(graph(SIGNAL)).start()
    run.send(c.SendSignal("s-1", "other", 1))
    assert len(run.state.signals) == 1
    run.send(c.SendSignal("s-2", "paid", {"amount": 5}))
    assert (run.outcome, run.output) == ("completed", {"amount": 5})


def test_a_signal_sent_before_the_wait_is_kept_in_order() -> None:
    run = Drive(graph("a", SIGNAL, transitions=[{"from": "a", "to": "w"}])).start()
    run.send(c.SendSignal("s-1", "paid", "first")).send(c.SendSignal("s-2", "paid", "second"))
    assert run.complete("a").output == "first"


def test_the_same_signal_twice_is_one_signal() -> None:
    run = Drive(graph("a", SIGNAL, transitions=[{"from": "a", "to": "w"}])).start()
    run.send(c.SendSignal("s-1", "paid", 1)).send(c.SendSignal("s-1", "paid", 1))
    assert len(run.state.signals) == 1


def test_a_signal_that_does_not_come_in_time_fails_the_node() -> None:
    run = Drive(graph(SIGNAL | {"wait": {"signal": "paid", "timeout": "10s"}})).start().advance(11)
    assert (run.outcome, run.code) == ("failed", "SIGNAL_TIMEOUT")


# -- approvals

HUMAN = {"id": "h", "type": "human", "human_config": {"timeout_hours": 1, "approvers": ["boss"]}}
APPROVAL = graph("a", HUMAN, "yes", transitions=[{"from": "a", "to": "h"}, {"from": "h", "to": "yes"}])


def asked(definition: Json = APPROVAL) -> tuple[Drive, str]:
    run = Drive(definition).start().complete("a", {"amount": 9})
    (ask,) = [effect for effect in outstanding(run.program, run.state) if isinstance(effect, f.AskApproval)]
    assert (ask.input, ask.approvers) == ({"amount": 9}, ("boss",))
    return run, ask.approval


def test_an_approval_resumes_the_run_with_the_decision_in_its_payload() -> None:
    run, approval = asked()
    assert run.outcome is None
    run.send(c.DecideApproval(approval, "approved", "boss", "fine"))
    given = run.open("yes")[0].input
    assert (given["amount"], given["decision"], given["decided_by"]) == (9, "approved", "boss")


def test_a_rejection_without_a_path_fails_the_node() -> None:
    run, approval = asked()
    run.send(c.DecideApproval(approval, "rejected", "boss"))
    assert (run.outcome, run.code) == ("failed", "REJECTED")


def test_an_approval_decided_twice_gets_a_typed_answer() -> None:
    run, approval = asked()
    run.send(c.DecideApproval(approval, "approved", "boss"))
    with pytest.raises(IllegalTransition) as caught:
        run.send(c.DecideApproval(approval, "rejected", "boss"))
    assert caught.value.attributes["now"] == "approved"
    with pytest.raises(UnknownTarget):
        run.send(c.DecideApproval("nobody", "approved", "boss"))


def test_an_approval_decided_after_its_time_gets_a_typed_answer() -> None:
    run, approval = asked()
    run.advance(3601)
    assert (run.outcome, run.code) == ("failed", "APPROVAL_TIMEOUT")
    with pytest.raises(IllegalTransition) as caught:
        run.send(c.DecideApproval(approval, "approved", "boss"))
    assert caught.value.attributes["now"] == "withdrawn"


def test_a_policy_may_decide_in_time() -> None:
    human = HUMAN | {
        "human_config": {"timeout_hours": 1, "approvers": ["boss"], "escalation_policy": "auto_approve_after_timeout"}
    }
    definition = graph("a", human, "yes", transitions=[{"from": "a", "to": "h"}, {"from": "h", "to": "yes"}])
    run, _ = asked(definition)
    run.advance(3601)
    assert run.open("yes")[0].input["decided_by"] == "timeout"


# -- children

CHILD = {"id": "c", "type": "workflow", "workflow": "sub"}


def child_of(run: Drive) -> str:
    (start,) = [effect for effect in outstanding(run.program, run.state) if isinstance(effect, f.StartChild)]
    assert start.workflow == "sub"
    return start.child


def test_a_child_completes_its_node() -> None:
    run = Drive(graph(CHILD), {"x": 1}).start()
    run.send(c.EndChild(child_of(run), "completed", {"y": 2}))
    assert (run.outcome, run.output) == ("completed", {"y": 2})


def test_a_failed_child_fails_its_node_with_its_cause() -> None:
    run = Drive(graph(CHILD)).start()
    run.send(c.EndChild(child_of(run), "failed", fault=e.Fault("BOOM", "it broke")))
    assert run.code == "CHILD_FAILED"
    assert run.state.fault is not None
    assert run.state.fault.details["cause"] == "BOOM"


def test_a_caught_child_failure_is_an_output() -> None:
    run = Drive(graph(CHILD | {"on_failure": "catch"})).start()
    run.send(c.EndChild(child_of(run), "failed", fault=e.Fault("BOOM", "it broke")))
    assert run.outcome == "completed"
    assert run.output["status"] == "failed"


def test_a_child_that_ends_twice_ends_once() -> None:
    run = Drive(graph(CHILD)).start()
    child = child_of(run)
    run.send(c.EndChild(child, "completed", 1)).send(c.EndChild(child, "failed"))
    assert run.outcome == "completed"


# -- compensation


def undoable(name: str) -> dict[str, Json]:
    return task(name, compensator={"action": f"undo-{name}"})


SAGA = graph(undoable("a"), undoable("b"), "c", transitions=[{"from": "a", "to": "b"}, {"from": "b", "to": "c"}])


def test_a_failure_undoes_what_was_done_in_reverse_order() -> None:
    run = Drive(SAGA).start().complete("a", "A").complete("b", "B").fail("c")
    assert (run.outcome, run.status) == ("failed", "compensating")
    undone = []
    while tasks := run.open():
        (task_,) = tasks  # one at a time
        assert task_.purpose == "undo"
        undone.append((task_.node, task_.input["output"]))
        run.answer(task_)
    assert undone == [("b", "B"), ("a", "A")]
    assert run.status == "closed"


def test_a_compensation_that_fails_is_recorded_and_the_rest_goes_on() -> None:
    run = Drive(SAGA).start().complete("a").complete("b").fail("c").fail("b")
    assert [task_.node for task_ in run.open()] == ["a"]
    run.complete("a")
    assert run.status == "closed"
    assert [done.status for done in run.state.undo.values()] == ["done", "failed"]


def test_a_success_is_not_undone() -> None:
    run = Drive(SAGA).start().complete("a").complete("b").complete("c")
    assert (run.outcome, run.status) == ("completed", "closed")


def test_a_cancelled_run_is_undone_after_what_runs_has_answered() -> None:
    run = Drive(SAGA).start().complete("a")
    task_ = run.open("b")[0]
    run.send(c.Cancel())
    assert [t.purpose for t in run.open()] == ["node"]
    run.answer(task_, "late")
    assert [(t.node, t.purpose) for t in run.open()] == [("b", "undo")]
