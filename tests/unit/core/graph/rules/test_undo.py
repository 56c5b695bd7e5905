"""Compensation and children: what test_life.py leaves open."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.graph.effects import outstanding
from penstock.core.graph.errors import DomainError, IllegalTransition
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from penstock.core.model.time import SECOND, Instant
from tests.unit.core.graph.drive import Drive, graph
from tests.unit.core.graph.rules.shapes import (
    caused,
    chain,
    children,
    failure,
    nodes_open,
    recorded,
    result,
    run_of,
    task,
    undoable,
    undone,
    way,
)

Json = Any


# -- what is recorded, and what a compensation is given


def test_a_compensation_is_the_nodes_own_task_with_another_action() -> None:
    node = task("a", config={"action": "book", "room": 7}, compensator={"action": "unbook", "timeout_sec": 9})
    run = run_of(node, "b", ways=chain("a", "b")).complete("a").fail("b")
    (found,) = run.open()
    assert (found.kind, found.queue, found.config) == ("task", "q", {"action": "unbook", "room": 7})
    assert (found.timeout, found.purpose) == (9000, "undo")


def test_a_compensation_is_recorded_with_its_config_when_the_node_completes() -> None:
    run = run_of(task("a", config={"room": 7}, compensate={"action": "unbook"}), ways=[]).complete("a")
    rule = recorded(run, e.NodeCompleted)[0].compensate
    assert rule.config == {"room": 7, "action": "unbook"}


def test_a_compensation_is_given_input_output_reason_and_error_under_a_key_of_its_own() -> None:
    node = task("a", input={"n": "input.n"}, compensate={"action": "undo"})
    run = run_of(node, "b", ways=chain("a", "b"), given={"n": 1, "more": 2})
    key = run.open()[0].idempotency_key
    (found,) = run.complete("a", "A").fail("b").open()
    assert list(found.input) == ["input", "output", "reason", "error"]
    assert (found.input["input"], found.input["output"]) == ({"n": 1}, "A")
    assert found.idempotency_key != key


def test_loops_do_not_lose_what_earlier_turns_did() -> None:
    """Trap 10."""
    node = task("a", loop={"max_iterations": 3, "timeout_path": ["b"]}, compensate={"action": "undo"})
    run = run_of(node, "b", ways=[])
    for number in range(3):
        run.complete("a", number)
    assert undone(run.fail("b")) == [("a", 2), ("a", 1), ("a", 0)]


# -- when


@pytest.mark.parametrize("ending", ["fail", "cancel", "deadline"])
@pytest.mark.parametrize(
    ("on", "endings"),
    [
        pytest.param(None, {"fail", "cancel", "deadline"}, id="by default"),
        pytest.param(["failure"], {"fail", "deadline"}, id="failure, and timed_out is one"),
        pytest.param(["cancel"], {"cancel"}, id="cancel"),
        pytest.param(["manual"], set(), id="manual"),
    ],
)
def test_the_outcome_decides_what_is_undone(on: list[str] | None, endings: set[str], ending: str) -> None:
    node = undoable("a") if on is None else undoable("a", on=on)
    run = run_of(node, "b", ways=chain("a", "b"), limits={"deadline_s": 10}).complete("a", "A")
    if ending == "fail":
        run.fail("b")
    elif ending == "cancel":
        run.send(c.Cancel()).send(failure(run.open("b")[0]))
    else:
        run.advance(10).send(failure(run.open("b")[0]))
    assert undone(run) == ([("a", "A")] if ending in endings else [])
    assert run.status == "closed"


def test_a_caught_failure_undoes_nothing() -> None:
    run = run_of(undoable("a"), "b", "h", ways=[*chain("a", "b"), way("b", "h", on="error")]).complete("a").fail("b")
    assert run.complete("h", "H").status == "closed"
    assert (run.outcome, recorded(run, e.CompensationStarted)) == ("completed", [])


def test_a_failure_that_only_a_branch_saw_undoes_nothing() -> None:
    ways = [way("a", "b", group="g", foreach="[0, 1]"), way("b", "j", synchronize={"on_sibling_failure": "settle"})]
    run = run_of(undoable("a"), undoable("b"), "j", ways=ways).complete("a").complete("b").fail("b").complete("j")
    assert (run.outcome, recorded(run, e.CompensationStarted)) == ("completed", [])


# -- in which order


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_branches_are_undone_in_reverse_order_of_their_completion(order: tuple[int, ...]) -> None:
    ways = [way("a", "b", group="g", foreach="[0, 1, 2]"), way("b", "j", synchronize={})]
    run = run_of(undoable("a"), undoable("b"), "j", ways=ways).complete("a", "A")
    tasks = run.open("b")
    for index in order:
        run.answer(tasks[index], index)
    run.fail("j")
    assert undone(run) == [*(("b", index) for index in reversed(order)), ("a", "A")]


def test_it_starts_after_what_was_in_flight_has_settled_and_late_results_come_first() -> None:
    ways = [way("a", name) for name in "bcd"]
    run = run_of(undoable("a"), "b", undoable("c"), undoable("d"), ways=ways).complete("a", "A")
    late = {found.node: found for found in run.open()}
    run.fail("b")
    assert recorded(run, e.CompensationStarted) == []
    run.answer(late["d"], "D")
    assert recorded(run, e.CompensationStarted) == []
    run.answer(late["c"], "C")
    assert undone(run) == [("c", "C"), ("d", "D"), ("a", "A")]


def test_late_results_of_nested_branches_are_undone_in_the_order_they_came() -> None:
    ways = [
        way("a", "b", group="outer", foreach="[0, 1]"),
        way("b", "c", group="inner", foreach="[0, 1]"),
        way("c", "d", synchronize={"group": "inner"}),
        way("d", "z", synchronize={"group": "outer"}),
        way("a", "x"),
    ]
    run = run_of("a", "b", undoable("c"), "d", "z", "x", ways=ways).complete("a").complete("b").complete("b")
    late = run.open("c")
    run.fail("x")
    for index in (2, 0, 3, 1):
        run.answer(late[index], index)
    assert undone(run) == [("c", 1), ("c", 3), ("c", 0), ("c", 2)]
    assert run.status == "closed"


def test_it_starts_when_what_did_not_answer_was_forced() -> None:
    run = run_of(undoable("a"), "b", ways=chain("a", "b")).complete("a", "A").send(c.Cancel()).advance(31)
    assert undone(run) == [("a", "A")]


def test_a_success_that_is_recorded_after_it_was_forced_is_undone_next() -> None:
    run = run_of(undoable("a"), undoable("b"), ways=chain("a", "b")).complete("a", "A")
    (late,) = run.open("b")
    run.send(c.Cancel()).advance(31).answer(late, "B")
    run.answer(next(found for found in run.open() if found.node == "a"))
    assert undone(run) == [("b", "B")]


@pytest.mark.parametrize(("policy", "expected"), [("skip", []), ("run", ["b"])])
def test_a_task_of_unknown_outcome_is_skipped_or_undone(policy: str, expected: list[str]) -> None:
    run = run_of(undoable("b", on_unknown=policy), ways=[]).send(c.Cancel()).advance(31)
    assert [node for node, _ in undone(run)] == expected


def test_a_task_of_unknown_outcome_that_is_skipped_is_recorded() -> None:
    run = run_of(undoable("b"), ways=[]).send(c.Cancel()).advance(31)
    assert [event.token for event in recorded(run, e.CompensationSkipped)] == [1]


@pytest.mark.parametrize(("policy", "expected"), [("skip", []), ("run", ["b"])])
def test_a_task_that_timed_out_has_an_unknown_outcome(policy: str, expected: list[str]) -> None:
    node = {**undoable("b", on_unknown=policy), "timeout": "10s", "queue_timeout": "0s"}
    run = run_of(node, ways=[]).advance(60)
    assert run.code == "TASK_TIMEOUT"
    assert [node for node, _ in undone(run)] == expected


# -- its own policy


def test_a_compensation_is_tried_again_by_its_own_policy() -> None:
    node = undoable("a", retry={"max_attempts": 3, "delay": "10s"})
    run = run_of(node, "b", ways=chain("a", "b")).complete("a", "A").fail("b").fail("a", retryable=True)
    assert run.open() == []
    run.advance(10)
    assert [found.attempt for found in run.open()] == [2]


def test_a_compensation_that_never_answers_times_out() -> None:
    run = run_of(undoable("a", timeout="10s"), "b", ways=chain("a", "b")).complete("a").fail("b").advance(3600)
    assert run.status == "closed"


def test_the_runs_deadline_does_not_end_a_compensation() -> None:
    run = run_of(undoable("a"), "b", ways=chain("a", "b"), limits={"deadline_s": 60}).complete("a").fail("b")
    run.advance(3600)
    assert (run.outcome, run.status, nodes_open(run)) == ("failed", "compensating", ["a"])


def test_a_late_answer_of_the_task_itself_is_not_one_of_its_compensation() -> None:
    run = run_of(undoable("a"), "b", ways=chain("a", "b"))
    first = run.open()[0]
    run.complete("a").fail("b").send(result(first, "again"))
    assert (run.status, nodes_open(run)) == ("compensating", ["a"])


def test_an_attempt_that_timed_out_and_one_that_succeeded_are_undone_once() -> None:
    node = {**undoable("b", on_unknown="run"), "timeout": "10s", "queue_timeout": "0s", "retry": 2}
    run = run_of(node, "x", ways=chain("b", "x")).advance(20).complete("b", "B").fail("x")
    assert undone(run) == [("b", "B")]
    assert run.status == "closed"


@pytest.mark.parametrize("late", [True, False])
def test_a_late_success_of_an_attempt_that_timed_out_is_undone_once(*, late: bool) -> None:
    node = {**undoable("b"), "timeout": "10s", "queue_timeout": "0s", "retry": 2}
    run = run_of(node, "x", ways=chain("b", "x"))
    (first,) = run.open()
    run.advance(20)
    if late:
        run.complete("b", "second").answer(first, "first")
    else:
        run.answer(first, "first").complete("b", "second")
    run.fail("x")
    assert len(undone(run)) == 1
    assert run.status == "closed"


def test_a_late_success_after_the_close_is_undone_all_the_same() -> None:
    run = run_of(undoable("a"), "b", ways=[])
    (late,) = run.open("a")
    run.fail("b").advance(31).answer(late, "A")
    assert undone(run) == [("a", "A")]
    assert run.status == "closed"


def test_what_is_manual_is_undone_when_somebody_asks_even_after_the_close() -> None:
    run = run_of(undoable("a", on=["manual"]), "b", ways=chain("a", "b")).complete("a", "A").complete("b")
    assert (run.outcome, run.status) == ("completed", "closed")
    run.send(c.Compensate())
    assert run.status == "compensating"
    assert undone(run) == [("a", "A")]
    assert (run.outcome, run.status) == ("completed", "closed")


def test_what_is_undone_once_is_not_undone_again() -> None:
    run = run_of(undoable("a", on=["failure", "manual"]), "b", ways=chain("a", "b")).complete("a", "A").fail("b")
    assert undone(run) == [("a", "A")]
    assert undone(run.send(c.Compensate())) == []
    assert run.status == "closed"


def test_a_run_that_is_open_is_not_undone_by_hand() -> None:
    with pytest.raises(IllegalTransition):
        run_of("a", ways=[]).send(c.Compensate())


def test_force_stops_a_compensation() -> None:
    run = run_of(undoable("a"), undoable("b"), "x", ways=chain("a", "b", "x")).complete("a").complete("b").fail("x")
    run.send(c.Cancel(force=True))
    assert (run.outcome, run.status, run.open()) == ("failed", "closed", [])


# -- children


CHILD: dict[str, Json] = {"id": "k", "type": "workflow", "workflow": "sub"}


def test_a_failed_child_is_caught_like_any_failure() -> None:
    look = task("h", input={"code": "state._last_error.code", "cause": "state._last_error.cause"})
    run = run_of(CHILD, look, ways=[way("k", "h", on="error")])
    (child,) = children(run)
    run.send(c.EndChild(child, "failed", fault=e.Fault("NO_STOCK", "none")))
    assert run.open("h")[0].input == {"code": "CHILD_FAILED", "cause": "NO_STOCK"}


def test_the_details_of_a_failed_child_name_it() -> None:
    run = run_of(CHILD, ways=[])
    (child,) = children(run)
    run.send(c.EndChild(child, "timed_out"))
    assert run.state.fault is not None
    assert run.state.fault.details == {"run_id": child, "cause": "timed_out"}


@pytest.mark.parametrize("outcome", ["failed", "cancelled", "timed_out"])
def test_a_caught_child_gives_its_status_and_error(outcome: Any) -> None:  # noqa: ANN401 - a literal
    run = run_of({**CHILD, "on_failure": "catch"}, ways=[])
    run.send(c.EndChild(children(run)[0], outcome, fault=e.Fault("X", "why")))
    assert (run.outcome, run.output["status"], run.output["error"]["code"]) == ("completed", outcome, "X")


def test_a_workflow_that_is_only_a_child_refuses_a_direct_start() -> None:
    with pytest.raises(DomainError):
        Drive(graph("a", standalone=False)).start()


def test_a_workflow_that_is_only_a_child_starts_as_one() -> None:
    run = Drive(graph("a", standalone=False)).send(c.Start("w", "hash", None, "seed", parent="p", depth=1))
    assert nodes_open(run) == ["a"]


def reported(run: Drive, command: c.Command) -> list[f.ReportOutcome]:
    return [effect for effect in caused(run, command) if isinstance(effect, f.ReportOutcome)]


def test_a_failed_child_is_reported_to_its_parent_when_it_is_closed() -> None:
    run = Drive(graph(undoable("a"), "b", transitions=chain("a", "b")))
    run.send(c.Start("w", "hash", None, "seed", parent="p", depth=1)).complete("a")
    assert reported(run, failure(run.open("b")[0])) == []
    (found,) = reported(run, result(run.open("a")[0]))
    assert (found.parent, found.outcome) == ("p", "failed")


def test_a_completed_child_is_reported_at_once() -> None:
    run = Drive(graph("a")).send(c.Start("w", "hash", None, "seed", parent="p", depth=1))
    assert reported(run, result(run.open("a")[0], "A")) == [f.ReportOutcome("p", "completed", "A")]


def test_a_completed_child_with_an_own_compensation_is_undone_by_it() -> None:
    node = {**CHILD, "compensate": {"type": "task", "queue": "q", "action": "undo"}}
    run = run_of(node, "b", ways=chain("k", "b"))
    run.send(c.EndChild(children(run)[0], "completed", "K")).fail("b")
    assert undone(run) == [("k", "K")]


def test_two_children_of_one_run_are_two_runs() -> None:
    run = run_of("a", CHILD, ways=[way("a", "k", foreach="[0, 1]")]).complete("a")
    assert len(set(children(run))) == 2


def started(run: Drive) -> list[f.StartChild]:
    return [effect for effect in outstanding(run.program, run.state) if isinstance(effect, f.StartChild)]


def test_a_retry_starts_a_new_child() -> None:
    run = run_of({**CHILD, "retry": 2}, ways=[])
    (first,) = children(run)
    run.send(c.EndChild(first, "failed", fault=e.Fault("X", "why"))).advance(1)
    (second,) = children(run)
    assert (first, second) == ("r.1.1", "r.1.2")
    assert run.send(c.EndChild(second, "completed", "K")).output == "K"


def test_the_end_of_an_earlier_child_does_not_count_for_the_new_one() -> None:
    run = run_of({**CHILD, "retry": 2}, ways=[])
    (first,) = children(run)
    run.send(c.EndChild(first, "failed")).advance(1).send(c.EndChild(first, "completed", "late"))
    assert (run.outcome, len(children(run))) == (None, 1)


@pytest.mark.parametrize(
    ("own", "run_limit", "expected"),
    [
        pytest.param("1h", None, 3600, id="its own"),
        pytest.param(None, 600, 600, id="the parent's"),
        pytest.param("1h", 600, 600, id="the nearer: the parent's"),
        pytest.param("5m", 600, 300, id="the nearer: its own"),
    ],
)
def test_a_childs_deadline_is_the_nearer_of_its_own_and_its_parents(
    own: str | None, run_limit: int | None, expected: int
) -> None:
    node = CHILD if own is None else {**CHILD, "timeout": own}
    run = run_of(node, ways=[], **({} if run_limit is None else {"limits": {"deadline_s": run_limit}}))
    (found,) = started(run)
    assert found.deadline == run.now + expected * SECOND


@pytest.mark.parametrize(("given", "expected"), [(100, 100), (900, 600), (None, 600)])
def test_a_run_that_is_a_child_ends_at_the_nearer_deadline(given: int | None, expected: int) -> None:
    run = Drive(graph("a", limits={"deadline_s": 600}))
    due = None if given is None else Instant(run.now + given * SECOND)
    run.send(c.Start("w", "hash", None, "seed", "r", parent="p", depth=1, deadline=due))
    assert run.advance(expected - 1).outcome is None
    assert run.advance(2).outcome == "timed_out"


def test_pause_and_resume_cascade_to_children() -> None:
    run = run_of(CHILD, ways=[])
    (child,) = children(run)
    assert f.TellChild(child, "pause") in caused(run, c.Pause())
    assert f.TellChild(child, "resume") in caused(run, c.Resume())


def test_a_child_that_completed_is_undone_as_one_unit_and_awaited() -> None:
    run = run_of(undoable("a"), CHILD, "b", ways=chain("a", "k", "b")).complete("a", "A")
    (child,) = children(run)
    run.send(c.EndChild(child, "completed", "K"))
    told = [effect for effect in caused(run, failure(run.open("b")[0])) if isinstance(effect, f.TellChild)]
    assert [(effect.child, effect.what) for effect in told] == [(child, "compensate")]
    assert (run.status, run.open()) == ("compensating", [])
    run.send(c.ChildCompensated(child))
    assert undone(run) == [("a", "A")]
    assert run.status == "closed"


def test_a_child_that_failed_has_undone_itself() -> None:
    run = run_of(CHILD, ways=[])
    found = caused(run, c.EndChild(children(run)[0], "failed"))
    assert [effect for effect in found if isinstance(effect, f.TellChild)] == []
    assert run.status == "closed"


def test_the_attempts_of_a_node_that_is_a_child_share_its_deadline() -> None:
    run = run_of({**CHILD, "retry": 9, "limits": {"deadline_s": 60}}, ways=[])
    run.send(c.EndChild(children(run)[0], "failed")).advance(61)
    assert (run.outcome, run.code) == ("failed", "NODE_DEADLINE")


# -- artifacts

REPORT = e.Artifact("report", "cas://sha256:1")


def made(run: Drive) -> Drive:
    (found,) = run.open("a")
    return run.send(c.TaskResult(found.token, 1, found.nonce, "completed", "A", artifacts=(REPORT,)))


def test_artifacts_are_committed_at_the_outcome_completed() -> None:
    run = made(run_of("a", "b", ways=chain("a", "b")))
    found = caused(run, result(run.open("b")[0]))
    assert [effect.artifacts for effect in found if isinstance(effect, f.CommitArtifacts)] == [(REPORT,)]


@pytest.mark.parametrize("how", ["fail", "cancel"])
def test_artifacts_of_any_other_outcome_stay_staged(how: str) -> None:
    run = made(run_of("a", "b", ways=chain("a", "b")))
    run = run.fail("b") if how == "fail" else run.send(c.Cancel()).advance(31)
    assert run.status == "closed"
    assert recorded(run, e.ArtifactsCommitted) == []
    assert list(run.state.artifacts.values()) == [REPORT]


@pytest.mark.parametrize(("inherits", "expected"), [(True, (REPORT,)), (False, ())])
def test_a_child_reads_its_parents_staged_artifacts_if_it_may(
    *, inherits: bool, expected: tuple[e.Artifact, ...]
) -> None:
    run = made(run_of("a", {**CHILD, "inherit_artifacts": inherits}, ways=chain("a", "k")))
    assert [found.artifacts for found in started(run)] == [expected]
