"""Runs with scripted answers, as users test them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.core.definition import DefinitionInvalid
from penstock.core.graph.errors import IllegalTransition, UnknownTarget
from penstock.testkit.workflow import (
    EPOCH,
    AnswersUsedUp,
    AnswerUnfit,
    Ask,
    NodeUnknown,
    NodeUnscripted,
    RunEndless,
    Workflow,
    approves,
    chooses,
    fails,
    never,
    rejects,
    returns,
    takes,
    world,
)

Json = Any

ORDER = """
name: order
nodes:
  charge: {queue: q, retry: {max_attempts: 3, delay: 10s}, output: {paid: output.id}, compensate: {action: refund}}
  review: {type: human, human: {approvers: [ana], timeout: 2d, on_timeout: reject, rejection_path: [refuse]}}
  ship:   {queue: q}
  refuse: {queue: q}
transitions:
  - {from: charge, to: review}
  - {from: review, to: ship}
"""


@pytest.fixture
def order() -> Workflow:
    return Workflow.from_text(ORDER).on("charge", {"id": 7}).on("ship", lambda ask: {"to": ask.input["decided_by"]})


def one(**node: Json) -> Workflow:
    """A workflow of one node `a`, on a queue."""
    return Workflow({"name": "w", "nodes": {"a": {"queue": "q", **node}}})


# -- a whole run


def test_a_run_goes_its_way_with_scripted_answers(order: Workflow) -> None:
    run = order.start({"amount": 5}).approve("review", by="ana", comments="fine")
    assert (run.status, run.outcome, run.output) == ("closed", "completed", {"to": "ana"})
    assert run.path == ["charge", "review", "ship"]
    assert run.state == {"paid": 7}
    assert run.inputs("charge") == [{"amount": 5}]
    assert run.outputs("charge") == [{"id": 7}]
    assert (run.visits("charge"), run.visits("refuse"), run.attempts("charge")) == (1, 0, 1)
    assert run.events[-1].kind == "run.closed"


def test_a_definition_comes_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "order.yaml").write_text(ORDER)
    assert Workflow.from_file(tmp_path / "order.yaml").name == "order"


def test_what_is_no_definition_is_refused_with_every_problem() -> None:
    with pytest.raises(DefinitionInvalid):
        Workflow({"nodes": {"a": {"dependents": ["nowhere"]}}})


def test_reading_moves_nothing(order: Workflow) -> None:
    run = order.start()
    assert (run.status, run.path, run.outcome) == ("running", [], None)
    assert run.until_idle().status == "waiting"


def test_runs_do_not_share_their_scripts(order: Workflow) -> None:
    failing = order.start().on("charge", fails("DECLINED")).until_idle()
    assert failing.outcome == "failed"
    assert order.start().until_idle().outcome is None


def test_the_history_is_a_line_for_each_event(order: Workflow) -> None:
    run = order.start().approve("review")
    assert len(run.history().splitlines()) == len(run.events)


def test_it_says_why_it_waits(order: Workflow) -> None:
    (token,) = order.start().until_idle().why().tokens
    assert (token.node, token.status) == ("review", "deciding")


# -- time


def test_time_stands_still_until_it_is_told_to_go_on(order: Workflow) -> None:
    run = order.start().on("charge", fails("BUSY", retryable=True), {"id": 7}).until_idle()
    assert (run.attempts("charge"), run.now) == (1, EPOCH)
    run.advance(9)
    assert run.attempts("charge") == 1
    run.advance("1s")
    assert (run.attempts("charge"), run.visits("charge")) == (2, 1)


def test_a_month_takes_no_time() -> None:
    workflow = Workflow({"name": "w", "nodes": {"a": {"type": "wait", "wait": "30d"}}})
    run = workflow.start(at=datetime(2030, 1, 1, tzinfo=UTC)).until_closed()
    assert (run.outcome, run.now) == ("completed", datetime(2030, 1, 31, tzinfo=UTC))


def test_time_that_runs_out_decides(order: Workflow) -> None:
    run = order.start().on("refuse").advance(timedelta(days=2))
    assert run.path == ["charge", "review", "refuse"]


def test_slow_workers_answer_at_their_moment() -> None:
    nodes = {"a": {"type": "pass", "fan_out": "all"}, "b": {}, "c": {}, "d": {"fan_in": "any"}}
    ways = [{"from": x, "to": y} for x, y in ("ab", "ac", "bd", "cd")]
    run = Workflow({"name": "w", "nodes": nodes, "transitions": ways}).start()
    run.on("b", takes("2m", "slow")).on("c", takes(60, "quick")).on("d").advance("59s")
    assert run.path == ["a"]
    run.advance("1s")
    assert (run.path, run.inputs("d"), run.status) == (["a", "c", "d"], [["quick"]], "closed")


def test_a_worker_that_is_never_heard_of_runs_into_its_time_limit() -> None:
    run = one(timeout="1m").start().on("a", never()).advance("59s")
    assert run.status == "running"
    fault = run.until_closed().fault
    assert fault is not None
    assert fault.code == "TASK_TIMEOUT"


def test_what_is_no_duration_is_refused(order: Workflow) -> None:
    for wrong in ("soon", "5", "3 weeks"):
        with pytest.raises(ValueError, match=wrong):
            order.start().advance(wrong)


# -- answers


def test_several_answers_are_given_once_each_and_then_it_says_so() -> None:
    loop = {"condition": "output != 'done'", "max_iterations": 9}
    assert one(loop=loop).start().on("a", "more", "more", "done").until_idle().visits("a") == 3
    with pytest.raises(AnswersUsedUp) as caught:
        one(loop=loop).start().on("a", "more", "more").until_idle()
    assert caught.value.attributes == {"node": "a", "count": 2}


def test_a_function_sees_what_is_asked() -> None:
    def answer(ask: Ask) -> Json:
        return fails("BUSY", retryable=True) if ask.attempt < 2 else [ask.node, ask.kind, ask.input, ask.config]

    run = one(config={"x": 1}, retry={"max_attempts": 2}).start("in").on("a", answer).until_closed()
    assert run.output == ["a", "task", "in", {"x": 1}]


def test_what_nobody_scripted_is_a_clear_error_and_can_be_mended() -> None:
    run = one().start({"n": 1})
    with pytest.raises(NodeUnscripted) as caught:
        run.until_idle()
    assert (caught.value.attributes["node"], caught.value.attributes["kind"]) == ("a", "task")
    assert run.on("a", "now").until_idle().output == "now"


def test_one_answer_can_be_for_all_that_are_not_scripted() -> None:
    run = Workflow({"name": "w", "nodes": {"a": {}, "b": {}}, "transitions": [{"from": "a", "to": "b"}]}).start()
    assert run.on_any(lambda ask: ask.node).on("b", "B").until_idle().outputs("a") == ["a"]
    assert run.output == "B"


def test_an_output_may_be_anything() -> None:
    for value in ([1, 2], None, False, {"fail": 3}):
        assert one().start().on("a", returns(value)).until_idle().output == value


def test_a_node_that_does_not_exist_cannot_be_scripted(order: Workflow) -> None:
    with pytest.raises(NodeUnknown):
        order.on("chrage", 1)
    with pytest.raises(NodeUnknown):
        order.start().on_undo("chrage")


def test_answers_of_the_wrong_kind_are_refused(order: Workflow) -> None:
    with pytest.raises(AnswerUnfit):
        order.start().on("review", {"ok": True}).until_idle()
    with pytest.raises(AnswerUnfit):
        order.start().on("charge", approves()).until_idle()


def test_an_agent_chooses() -> None:
    branch = {"type": "agent_driven", "available_next_nodes": ["b", "c"]}
    run = Workflow({"name": "w", "nodes": {"a": {"branch": branch}, "b": {}, "c": {}}}).start()
    assert run.on("a", chooses("c", output=1)).on("c", "C").until_idle().path == ["a", "c"]


# -- people and signals


def test_people_decide_when_the_test_says_so_or_by_script(order: Workflow) -> None:
    order.on("refuse")
    assert order.start().reject("review", by="bob").path[-1] == "refuse"
    scripted = order.start().on("review", takes("1h", rejects("bob"))).until_closed()
    assert (scripted.path[-1], scripted.now) == ("refuse", EPOCH + timedelta(hours=1))


def test_an_approval_is_named_by_its_node_or_its_id(order: Workflow) -> None:
    assert order.start(run="r9").approve("r9.2").outcome == "completed"
    with pytest.raises(UnknownTarget):
        order.start().approve("ship")


def test_a_signal_comes_from_the_test_or_from_the_script() -> None:
    workflow = Workflow({"name": "w", "nodes": {"a": {"type": "wait", "wait": {"signal": "go"}}}})
    assert workflow.start().until_closed().status == "waiting"
    assert workflow.start().signal("go", 1).output == 1
    assert workflow.start().on("a", 2).until_idle().output == 2


# -- life of a run


def test_a_run_is_cancelled_and_its_workers_stop() -> None:
    run = one().start().on("a", takes("1h"))
    run.cancel("enough")
    assert (run.outcome, run.status) == ("cancelled", "closed")
    with pytest.raises(IllegalTransition):
        run.cancel()


def test_a_run_that_never_comes_to_rest_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "STEPS", 5)
    with pytest.raises(RunEndless):
        one(loop={"max_iterations": 9}).start().on("a", 1).until_idle()


def test_a_paused_run_hands_out_nothing_until_it_is_resumed(order: Workflow) -> None:
    run = order.start().on("charge", takes("1m", {"id": 7})).pause().advance("2m")
    assert (run.status, run.path, run.inputs("review")) == ("paused", ["charge"], [])
    assert run.resume().approve("review").outcome == "completed"


def test_failed_runs_are_undone(order: Workflow) -> None:
    run = order.start().on("ship", fails("SUNK")).approve("review")
    assert (run.outcome, run.undone, run.status) == ("failed", ["charge"], "closed")


def test_undoing_can_be_scripted_and_asked_for(order: Workflow) -> None:
    undo = []
    run = order.start().on_undo("charge", lambda ask: undo.append(ask.input["output"])).on("ship", fails("SUNK"))
    run.approve("review")
    assert undo == [{"id": 7}]


def test_parked_work_is_tried_again_or_dropped() -> None:
    parking = one(on_exhausted="park")
    assert parking.start().on("a", fails("X"), "mended").retry_parked("a").output == "mended"
    assert parking.start().on("a", fails("X")).drop_parked("a").outcome == "failed"
    with pytest.raises(UnknownTarget):
        parking.start().on("a", 1).retry_parked("a")


def test_a_run_is_patched(order: Workflow) -> None:
    run = order.start().until_idle().patch({"op": "add", "path": "/nodes/bow", "value": {"queue": "q"}})
    run.patch({"op": "add", "path": "/transitions/-", "value": {"from": "ship", "to": "bow"}})
    assert run.on("bow", "tied").approve("review").output == "tied"


def test_conditions_that_run_user_code_are_scripted() -> None:
    code = {"type": "python_sandbox", "code": "def evaluate(output, context):\n    return output > 1\n"}
    ways = [{"from": "a", "to": "b", "when": code}, {"from": "a", "to": "c", "default": True}]
    workflow = Workflow({"name": "w", "nodes": {"a": {}, "b": {}, "c": {}}, "transitions": ways})
    workflow.on("a", 2).on("b", "B").on("c", "C")
    assert workflow.start().on_condition("a", True).until_idle().output == "B"
    assert workflow.start().on_condition("a", lambda ask: ask.input["output"] > 2).until_idle().output == "C"
    assert workflow.start().on_condition("a", fails("EXPR_LIMIT")).until_idle().outcome == "failed"
    with pytest.raises(NodeUnscripted):
        workflow.start().until_idle()
    with pytest.raises(AnswerUnfit):
        workflow.start().on_condition("a", returns("yes")).until_idle()


def test_what_was_memoized_is_not_done_again() -> None:
    workflow = one(memoize=True).on("a", lambda ask: ask.input * 2)
    assert [workflow.start(given).until_idle().output for given in (2, 2, 3)] == [4, 4, 6]
    assert workflow.start(2).until_idle().attempts("a") == 0
