"""What becomes of siblings when their join goes on without them: cancelled, abandoned, late."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.graph.errors import IllegalTransition
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from tests.unit.core.graph.drive import Drive
from tests.unit.core.graph.rules.shapes import (
    asked,
    caused,
    chain,
    children,
    fail_task,
    fanned,
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

ABANDON: dict[str, Json] = {"wait_for": "any", "on_early_complete": "abandon"}


def race(other: dict[str, Json], **sync: Json) -> Drive:
    """Two branches race to `j`: the task `b`, and `x` of the kind given."""
    both = {"synchronize": {"group": "g", "wait_for": "any", **sync}}
    ways = [way("a", "b", group="g"), way("a", "x", group="g"), way("b", "j", **both), way("x", "j", **both)]
    return run_of("a", "b", {"id": "x", **other}, "j", ways=ways).complete("a")


TASK: dict[str, Json] = {"type": "task", "queue": "q"}
HUMAN: dict[str, Json] = {"type": "human"}
CHILD: dict[str, Json] = {"type": "workflow", "workflow": "sub"}


# -- cancel


def test_a_cancelled_siblings_task_is_cancelled() -> None:
    run = race(TASK)
    loser = run.open("x")[0]
    assert f.CancelTask(loser.token, 1, "q") in caused(run, result(run.open("b")[0]))


def test_a_cancelled_siblings_child_is_cancelled() -> None:
    run = race(CHILD)
    (child,) = children(run)
    assert f.TellChild(child, "cancel") in caused(run, result(run.open("b")[0]))


def test_a_cancelled_siblings_approval_is_withdrawn() -> None:
    run = race(HUMAN)
    (approval,) = asked(run)
    run.complete("b")
    assert asked(run) == []
    assert [event.approval for event in recorded(run, e.ApprovalWithdrawn)] == [approval]
    with pytest.raises(IllegalTransition) as caught:
        run.send(c.DecideApproval(approval, "approved", "me"))
    assert caught.value.attributes["now"] == "withdrawn"


def test_a_cancelled_siblings_timers_are_dropped() -> None:
    run = race({"type": "wait", "wait": "1h"})
    (timer,) = run.state.timers
    assert f.DropTimer(timer) in caused(run, result(run.open("b")[0]))
    assert run.state.timers == {}


@pytest.mark.parametrize("policy", ["cancel", "abandon"])
def test_a_late_success_counts_for_compensation_either_way(policy: str) -> None:
    ways = [
        way("a", "b", group="g", foreach="[1, 2]"),
        way("b", "j", synchronize={"wait_for": "any", "on_early_complete": policy}),
    ]
    run = run_of("a", undoable("b"), "j", ways=ways).complete("a")
    late = run.open("b")[1]
    run.complete("b", "won").answer(late, "late").fail("j")
    assert undone(run) == [("b", "late"), ("b", "won")]


@pytest.mark.parametrize("policy", ["cancel", "abandon"])
def test_a_late_result_is_never_applied(policy: str) -> None:
    """Traps 5 and 11."""
    run = fanned(node=task("b", output={"n": "output"}), wait_for="any", on_early_complete=policy)
    _, late, failing = run.open("b")
    run.complete("b", "won").answer(late, "late")
    fail_task(run, failing, retryable=True)
    assert run.open("j")[0].input == [{"n": "won"}]
    assert (run.state.scopes[0].data, run.outcome) == ({}, None)


# -- abandon


def test_an_abandoned_siblings_task_is_not_cancelled() -> None:
    run = race(TASK, on_early_complete="abandon")
    found = caused(run, result(run.open("b")[0]))
    assert [effect for effect in found if isinstance(effect, f.CancelTask)] == []
    assert nodes_open(run) == ["x", "j"]


def test_an_abandoned_siblings_child_is_not_cancelled() -> None:
    run = race(CHILD, on_early_complete="abandon")
    found = caused(run, result(run.open("b")[0]))
    assert [effect for effect in found if isinstance(effect, f.TellChild)] == []
    assert len(children(run)) == 1


def test_an_abandoned_sibling_delays_the_close_and_never_the_outcome() -> None:
    run = fanned(items=2, **ABANDON)
    run.complete("b", "won").complete("j", "J")
    assert (run.outcome, run.output) == ("completed", "J")
    assert run.status != "closed"
    run.complete("b", "late")
    assert (run.status, run.output) == ("closed", "J")


def test_an_abandoned_sibling_does_not_delay_the_group_around() -> None:
    ways = [
        way("a", "b", group="outer"),
        way("b", "c", group="inner", spawn=2),
        way("c", "d", synchronize={"group": "inner", **ABANDON}),
        way("d", "z", synchronize={"group": "outer"}),
    ]
    run = run_of("a", "b", "c", "d", "z", ways=ways).complete("a").complete("b").complete("c", "won").complete("d", "D")
    assert run.open("z")[0].input == ["D"]


def test_an_abandoned_sibling_does_not_keep_a_named_join_waiting() -> None:
    ways = [
        way("a", "b", group="g", spawn=2),
        way("b", "j", synchronize={"group": "g", **ABANDON}),
        way("j", "never", when="output == 'never'"),
        way("j", "k", priority=2),
    ]
    join = task("d", dependencies=["k", "never"], wait_for_all=True, on_unreachable="proceed")
    run = (
        run_of("a", "b", "j", "k", "never", join, ways=ways)
        .complete("a")
        .complete("b")
        .complete("j")
        .complete("k", "K")
    )
    assert run.open("d")[0].input == {"k": "K"}


def test_an_abandoned_sibling_does_not_keep_a_loops_count() -> None:
    """The count is dropped when the loop is left by any way; a straggler of its last turn is not in it."""
    ways = [
        way("a", "b", group="g", spawn=2),
        way("b", "j", synchronize={"group": "g", **ABANDON}),
        way("j", "a", when="output == 'again'", max_iterations=2, id="back"),
        way("j", "z", priority=2),
    ]
    run = run_of("a", "b", "j", "z", ways=ways).complete("a").complete("b").complete("j", "again")
    run.complete("a").complete("b", index=1).complete("j", "done")
    assert nodes_open(run) == ["b", "b", "z"]
    assert run.state.scopes[0].loops == {}


def test_an_abandoned_sibling_is_not_tried_again_and_goes_no_further() -> None:
    sync = {"synchronize": {"group": "g", **ABANDON}}
    ways = [way("a", "b", group="g", foreach="[1, 2, 3]"), way("b", "c"), way("c", "j", **sync)]
    run = run_of("a", task("b", retry=5), "c", "j", ways=ways).complete("a")
    _, late, failing = run.open("b")
    run.complete("b").complete("c").answer(late, "late")
    fail_task(run, failing, retryable=True)
    run.advance(100)
    assert nodes_open(run) == ["j"]
    assert [event.applied for event in recorded(run, e.NodeCompleted)].count(False) == 1


def test_what_an_abandoned_branch_waited_for_is_over() -> None:
    """Quiescence ignores abandoned tokens' waits."""
    run = race({"type": "wait", "wait": "30d"}, on_early_complete="abandon").complete("b").complete("j", "J")
    assert (run.outcome, run.status) == ("completed", "closed")


# -- join timeouts beside late siblings


def test_a_timeout_that_proceeds_leaves_the_rest_to_the_early_policy() -> None:
    run = fanned(timeout="10s", on_timeout="proceed_with_available", on_early_complete="abandon")
    late = run.open("b")[2]
    run.complete("b", "x").advance(11)
    assert run.open("j")[0].input == ["x"]
    assert late in run.open("b")
    run.answer(late, "late")
    assert recorded(run, e.NodeCompleted)[-1].applied is False


def timed_inside_abandoned() -> Drive:
    """An `any` over two branches; the slow one has an inner group with a time limit."""
    outer = {"synchronize": {"group": "outer", **ABANDON}}
    ways = [
        way("a", "quick", group="outer"),
        way("a", "b", group="outer"),
        way("b", "c", group="inner", spawn=2),
        way("c", "d", synchronize={"group": "inner", "timeout": "10s", "on_timeout": "proceed_with_available"}),
        way("quick", "z", **outer),
        way("d", "z", **outer),
    ]
    return run_of("a", "quick", "b", "c", "d", "z", ways=ways).complete("a").complete("b")


def test_the_timeout_of_an_inner_join_in_an_abandoned_branch_fires_nothing() -> None:
    run = timed_inside_abandoned()
    late = run.open("c")
    run.complete("quick", "Q").advance(11)
    assert recorded(run, e.JoinCompleted)[1:] == []
    for found in late:
        run.answer(found)
    assert run.complete("z", "Z").status == "closed"


@pytest.mark.parametrize("policy", ["fail", "proceed_with_available"])
def test_the_timeout_of_a_join_within_the_grace_of_a_cancelled_run_fires_nothing(policy: str) -> None:
    run = fanned(items=2, timeout="10s", on_timeout=policy).complete("b").send(c.Cancel())
    late = run.open("b")
    run.advance(11)
    assert recorded(run, e.JoinCompleted) == recorded(run, e.JoinFailed) == []
    run.answer(late[0], "late")
    assert (run.status, run.visited()) == ("closed", ["a", "b", "b"])


def test_a_settled_group_around_an_abandoned_one_closes() -> None:
    ways = [
        way("a", "b", group="outer", foreach="[1, 2]"),
        way("b", "c", group="inner", foreach="[1, 2]"),
        way("c", "d", synchronize={"group": "inner", **ABANDON}),
        way("d", "z", synchronize={"group": "outer", "on_sibling_failure": "settle"}),
    ]
    run = run_of("a", "b", "c", "d", "z", ways=ways).complete("a").complete("b").complete("b").complete("c")
    run.fail("d")
    run.work(lambda found: found.node)
    assert (run.outcome, run.output) == ("completed", "z")
    assert len(run.state.scopes[0].errors["outer"]) == 1


# -- what is late for the run


def test_an_uncaught_failure_tells_every_worker() -> None:
    run = run_of("a", "b", ways=[])
    loser = run.open("b")[0]
    found = run.open("a")[0]
    effects = caused(run, c.TaskResult(found.token, 1, found.nonce, "failed", fault=e.Fault("BOOM", "it broke")))
    assert f.CancelTask(loser.token, 1, "q") in effects


def test_a_branch_that_fails_tells_the_workers_of_the_rest() -> None:
    ways = [way("a", "b", group="g", foreach="[1, 2]"), way("b", "j", synchronize={}), *chain("j", "k")]
    run = run_of("a", "b", "j", "k", "h", ways=[*ways, way("j", "h", on="error")]).complete("a")
    first, second = run.open("b")
    effects = caused(run, c.TaskResult(first.token, 1, first.nonce, "failed", fault=e.Fault("BOOM", "it broke")))
    assert f.CancelTask(second.token, 1, "q") in effects
